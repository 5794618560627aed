"use strict";
const base = document.body.dataset.base;
const field = document.getElementById("q");
const main = document.getElementById("main");
const said = document.getElementById("said");

// Dark or light: the system's, until the reader says otherwise.
const shade = document.getElementById("shade");
const dark = () => (document.documentElement.dataset.shade || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function shaded() { shade.textContent = dark() ? "light" : "dark"; shade.setAttribute("aria-label", dark() ? "light colours" : "dark colours"); }
function turn() {
  document.documentElement.dataset.shade = dark() ? "light" : "dark";
  try { localStorage.setItem("shade", document.documentElement.dataset.shade); } catch { /* kept for this page alone */ }
  shaded();
}
try { if (localStorage.getItem("shade")) document.documentElement.dataset.shade = localStorage.getItem("shade"); } catch { /* the system's */ }
shade.hidden = false;
shade.addEventListener("click", turn);
shaded();

// Search as one types: the newest answer counts, an older one on its way is let go.
let asking = null;
let due = 0;
const first = [...main.childNodes];
async function ask() {
  if (asking) asking.abort();
  asking = new AbortController();
  const words = field.value;
  if (!words.trim() && location.pathname !== base + "/search") return main.replaceChildren(...first);
  const where = new URLSearchParams(location.pathname === base + "/search" ? location.search : "");
  where.set("q", words);
  try {
    const answer = await fetch(base + "/search?" + where + "&live=1", { signal: asking.signal });
    const text = await answer.text();
    if (words !== field.value) return;
    let found = document.getElementById("found");
    if (!found) {
      main.replaceChildren(Object.assign(document.createElement("div"), { id: "found" }));
      found = document.getElementById("found");
    }
    found.outerHTML = answer.ok || answer.status === 400 || answer.status === 404 ? text : "<div id=\"found\"></div>";
    const hits = document.querySelectorAll(".hit").length;
    said.textContent = hits === 1 ? "1 hit" : hits + " hits";
    document.getElementById("gone").hidden = answer.status !== 403;
  } catch (error) {
    if (error.name !== "AbortError") document.getElementById("gone").hidden = false;
  }
}
field.addEventListener("input", () => { clearTimeout(due); due = setTimeout(ask, 40); });

// Keys: the list is walked by its links.
const FIELDS = ["INPUT", "SELECT", "TEXTAREA"];
let second = false;
function walk(step) {
  const links = [...main.querySelectorAll("a.go")].filter((one) => one.offsetParent !== null);
  const at = links.indexOf(document.activeElement);
  const next = links[Math.max(0, Math.min(links.length - 1, at + step))];
  if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (FIELDS.includes(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    if (event.key === "ArrowDown" && event.target === field) { event.preventDefault(); walk(1); }
    return;
  }
  const key = event.key;
  if (second) {
    second = false;
    const link = key.length === 1 && document.querySelector("nav [data-key=\"" + CSS.escape(key) + "\"]");
    if (link) link.click();
  } else if (key === "/") { event.preventDefault(); field.focus(); field.select(); }
  else if (key === "g") second = true;
  else if (key === "j" || key === "k") walk(key === "j" ? 1 : -1);
  else if (key === "u") history.back();
  else if (key === "d") turn();
  else if (key === "?") location.assign(base + "/keys");
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  try { await navigator.clipboard.writeText(button.dataset.copy); button.textContent = "copied"; said.textContent = "copied"; }
  catch { getSelection().selectAllChildren(button.previousElementSibling); }
});
