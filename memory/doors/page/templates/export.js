"use strict";
const field = document.getElementById("q");
const records = [...document.querySelectorAll("article.record")];
let texts = null;
let due = 0;
function show() {
  texts = texts || records.map((one) => one.textContent.toLowerCase());
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  records.forEach((one, at) => {
    one.hidden = !words.every((word) => texts[at].includes(word));
    left += one.hidden ? 0 : 1;
  });
  const sessions = document.getElementById("sessions");
  if (sessions) sessions.hidden = words.length > 0;
  document.getElementById("none").hidden = left > 0;
}
field.addEventListener("input", () => { clearTimeout(due); due = setTimeout(show, 80); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== field) { event.preventDefault(); field.focus(); }
});
