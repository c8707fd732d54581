"use strict";
// Keys of the desk. Everything works without: a key presses a button or follows a link that is on the page. With it, the
// next page takes the place of this one without a load. A page stays as it is until the desk's reply: that comes after
// the decision is on the disk.
const UNSEEN_MS = 100; // a key that leads on so soon after the page came was meant for the page before
const LONGEST_MS = 40_000;
const SWAPPED = /^\/(?:question|answer|all|comments|pictures|differ)?$/; // the class has a policy and a script of its own
const GONE = "The desk does not answer.";
const UNKNOWN = `${GONE} Whether this was saved is not known; what you typed is still here.`;
const AGAIN = "Start it again: its new link shows what holds.";
let form, lines, comment, chosen, at;
let busy = false;
let since = 0;

const field = line => line.querySelector("input");
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
function begin() {
  form = document.getElementById("mark");
  lines = form ? [...form.querySelectorAll(".line")] : [];
  comment = document.getElementById("comment");
  chosen = lines[0];
  at = location.pathname + location.search;
  since = performance.now();
  document.body.classList.add("live");
  for (const line of lines) {
    const button = line.querySelector(".toggle");
    button.hidden = false;
    button.addEventListener("click", () => toggle(line));
    field(line).addEventListener("input", show);
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
}
function give(what) {
  for (const line of lines) field(line).value = line.dataset[what];
  show();
}

// ---- from page to page
function say(problem) {
  const main = document.getElementById("main");
  const shown = main.querySelector(".problem[role=alert]") || document.createElement("p");
  shown.className = "problem";
  shown.setAttribute("role", "alert");
  shown.textContent = problem;
  main.prepend(shown);
  shown.scrollIntoView({ block: "nearest" });
}
async function go(address, sent, push = true) {
  if (busy || (push && performance.now() - since < UNSEEN_MS)) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  let reply, text;
  try {
    const asked = { signal: AbortSignal.timeout(LONGEST_MS), ...(sent && { method: "POST", body: sent }) };
    reply = await fetch(address, asked);
    text = await reply.text();
  } catch {
    say(`${sent ? UNKNOWN : GONE} ${AGAIN}`);
  }
  document.body.removeAttribute("aria-busy");
  busy = false;
  if (text === undefined) return;
  // What is refused has the address of the page that it is about.
  const named = reply.headers.get("content-location") || (sent && !reply.redirected ? location.href : reply.url);
  const { href } = new URL(named, location);
  try {
    if ((reply.headers.get("content-type") || "").startsWith("text/html")) put(text, href, push);
    else if (sent && reply.redirected) location.assign(href); // it is saved, and what comes next failed
    else say(text);
  } catch {
    location.assign(href);
  }
}
function put(text, href, push) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const script = each => each.querySelector("script").getAttribute("src");
  if (!page.body.matches(".desk") || script(page) !== script(document)) { // another page than the desk's, or its next version
    location.assign(href);
    return;
  }
  if (href !== location.href) history[push ? "pushState" : "replaceState"](null, "", href);
  document.title = page.title;
  document.body.replaceChildren(...page.body.childNodes);
  scrollTo(0, 0);
  document.getElementById("main").focus({ preventScroll: true }); // a screen reader goes on from there
  begin();
}
document.addEventListener("submit", event => {
  event.preventDefault();
  const sent = new URLSearchParams(new FormData(event.target));
  sent.append("in_place", "1");
  go(event.target.action, sent);
});
document.addEventListener("click", event => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || !SWAPPED.test(link.pathname) || link.hash) return;
  event.preventDefault();
  go(link.href);
});
window.addEventListener("popstate", () => {
  if (location.pathname + location.search === at) return; // to another place of the same page
  if (busy) location.reload();
  else go(location.href, null, false);
});
window.addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
begin();

document.addEventListener("keydown", event => {
  const typing = event.target.matches("textarea, input:not([type=checkbox])");
  if (typing && event.key === "Escape") event.target.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (busy || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
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
