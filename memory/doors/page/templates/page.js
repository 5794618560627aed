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
    said.classList.remove("shown");
    said.textContent = hits === 1 ? "1 result" : hits + " results";
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
    const link = key.length === 1 && document.querySelector(".top [data-key=\"" + CSS.escape(key) + "\"]");
    if (link) link.click();
  } else if (key === "/") { event.preventDefault(); field.focus(); field.select(); }
  else if (key === "g") second = true;
  else if (key === "j" || key === "k") walk(key === "j" ? 1 : -1);
  else if (key === "u") history.back();
  else if (key === "p") { const menu = document.querySelector("details.projects"); if (menu) { menu.open = !menu.open; menu.querySelector("a").focus(); } }
  else if (key === "d") turn();
  else if (key === "?") location.assign(base + "/keys");
});

// A copied command stands on the page for a while, so that one sees what was copied.
let told = 0;
function tell(text) {
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(told);
  told = setTimeout(() => said.classList.remove("shown"), 6000);
}
document.addEventListener("click", async (event) => {
  const menu = document.querySelector("details.projects[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
  const button = event.target.closest("button.copy");
  if (!button) return;
  const line = button.dataset.copy;
  try { await navigator.clipboard.writeText(line); tell("Copied: " + line); }
  catch { tell("Type this in a terminal: " + line); getSelection().selectAllChildren(said); }
});

// A list goes on as one scrolls: what is older is fetched and put behind, under its day.
const ahead = "IntersectionObserver" in window ? new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && more(one.target)), { rootMargin: "600px" }) : null;
function watch() { const link = main.querySelector("a[rel=next]"); if (link && ahead) ahead.observe(link); }
async function more(link) {
  ahead.unobserve(link);
  try {
    const answer = await fetch(link.href + "&live=1");
    if (!answer.ok || !link.isConnected) return;
    const list = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("list");
    const days = main.querySelectorAll("#list > .day"), last = days[days.length - 1], first = list.querySelector(".day");
    if (last && first && last.dataset.day === first.dataset.day) {
      first.querySelector("h2").remove();
      last.append(...first.childNodes);
      first.remove();
    }
    link.closest("p").replaceWith(...list.childNodes);
    watch();
  } catch { document.getElementById("gone").hidden = false; }
}
watch();

// Filters work as one types or chooses; the address says what is shown.
const filters = main.querySelector("form[data-list]");
let refining = null;
async function refine() {
  if (refining) refining.abort();
  refining = new AbortController();
  const where = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));
  try {
    const answer = await fetch(filters.action + "?" + where + "&live=1", { signal: refining.signal });
    if (!answer.ok) return;
    document.getElementById("list").outerHTML = await answer.text();
    const clear = filters.querySelector(".clear");
    if (clear) clear.hidden = ![...where.keys()].some((name) => name !== "kind");
    history.replaceState(null, "", filters.action + "?" + where);
    watch();
  } catch (error) {
    if (error.name !== "AbortError") document.getElementById("gone").hidden = false;
  }
}
if (filters) {
  filters.classList.add("lively");
  filters.addEventListener("input", () => { clearTimeout(due); due = setTimeout(refine, 120); });
  filters.addEventListener("submit", (event) => { event.preventDefault(); refine(); });
}
