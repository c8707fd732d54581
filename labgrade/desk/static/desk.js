"use strict";
// Keys of the desk. Everything works without: a key presses a button or follows a link that is on the page.
document.body.classList.add("live");
const form = document.getElementById("mark");
const lines = form ? [...form.querySelectorAll(".line")] : [];
const comment = document.getElementById("comment");
const field = line => line.querySelector("input");
let sent = false;
let chosen = lines[0];

function show() {
  for (const line of lines) {
    line.querySelector(".toggle").setAttribute("aria-pressed", String(field(line).value.trim() === line.dataset.full));
  }
}
function toggle(line) {
  chosen = line;
  field(line).value = field(line).value.trim() === line.dataset.full ? line.dataset.none : line.dataset.full;
  show();
}
function step(by) {
  const all = [...document.querySelectorAll("input[type=checkbox][name=row], .question h2 a")];
  const next = all[Math.max(0, all.indexOf(document.activeElement) + by)];
  if (!next) return;
  next.focus();
  next.closest("li").scrollIntoView({ block: "nearest" });
}
function offer(button) {
  const text = button.dataset.comment;
  if (!comment.value.split("\n").includes(text)) comment.value = comment.value ? `${comment.value}\n${text}` : text;
}
for (const line of lines) {
  const button = line.querySelector(".toggle");
  button.hidden = false;
  button.addEventListener("click", () => toggle(line));
  field(line).addEventListener("input", show);
}
function give(what) {
  for (const line of lines) field(line).value = line.dataset[what];
  show();
}
for (const button of document.querySelectorAll("[data-all]")) {
  button.parentElement.hidden = false;
  button.addEventListener("click", () => {
    give(button.dataset.all);
    if ("save" in button.dataset) form.requestSubmit();
  });
}
for (const button of document.querySelectorAll(".offer")) {
  button.hidden = false;
  button.addEventListener("click", () => offer(button));
}
show();
const read = document.querySelector(".read-here");
if (read && read.getBoundingClientRect().top > innerHeight - 100) read.scrollIntoView({ block: "center" });
for (const each of document.forms) {
  each.addEventListener("submit", event => {
    if (sent) event.preventDefault(); // a second press while the first is on its way
    sent = true;
  });
}
window.addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

document.addEventListener("keydown", event => {
  const typing = event.target.matches("textarea, input:not([type=checkbox])");
  if (typing && event.key === "Escape") event.target.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit && event.shiftKey) {
    const button = document.querySelectorAll(".offer")[Number(digit[1]) - 1];
    if (button) offer(button);
  } else if (digit && form) {
    const number = Number(digit[1]);
    if (number === 0) give("none");
    else if (lines[number - 1]) toggle(lines[number - 1]);
  } else if (event.key.toLowerCase() === "f" && form) {
    give("full");
    if (event.shiftKey) form.requestSubmit();
  } else if (event.key === "e" && chosen) {
    field(chosen).focus();
    field(chosen).select();
  } else if (event.key === "j" || event.key === "k") {
    step(event.key === "j" ? 1 : -1);
  } else if (event.key === "x") {
    const row = document.activeElement.closest(".rows li") || document;
    const folded = [...row.querySelectorAll(".said details, .around")];
    const open = folded.some(each => !each.open);
    for (const each of folded) each.open = open;
  } else if (event.key === "c" && comment) {
    comment.focus();
  } else if (event.key === "Enter" && form) {
    form.requestSubmit();
  } else {
    const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!found) return;
    found.click();
  }
  event.preventDefault();
});
