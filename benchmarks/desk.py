"""How long a marker waits at the desk: from the key that decides to the next answer painted, in headless Chromium.

    python benchmarks/desk.py [RESULTS] [--most 60]

Without RESULTS, a class is made whose answers are parts of a report; else a copy of these is marked. `labgrade desk`
runs as it always does, with the jail that renders; a key is pressed 0.4 s after the answer before was painted,
which is less than anybody reads. Beside the whole stands what passed between the request and the reply's last byte, and
what a key takes that only sets the points: no page of any kind is painted faster in that browser.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
_PAUSE_MS = 400
_MOST_TRIES = 200
# From a key to the first frame on the screen in which what it is about is another one; also over a change of pages.
_CLOCK = """
const now = () => performance.timeOrigin + performance.now();
const shown = () => [document.querySelector("h2#answer, h1")?.textContent,
  document.querySelector(".toggle[aria-pressed=true]") !== null].join();
const kept = name => sessionStorage.getItem(name);
addEventListener("keydown", event => {
  sessionStorage.setItem("at", performance.timeOrigin + event.timeStamp);
  sessionStorage.setItem("before", document.readyState === "loading" ? "" : shown());
}, true);
const look = () => {
  requestAnimationFrame(look);
  if (kept("at") === null || document.readyState === "loading") return;
  if (shown() === kept("before") || (kept("wants") && !document.querySelector(kept("wants")))) return;
  const channel = new MessageChannel();  // its message comes behind the frame
  channel.port1.onmessage = () => {
    if (kept("at") !== null) painted(now() - kept("at"));
    sessionStorage.removeItem("at");
  };
  channel.port2.postMessage(0);
};
look();
"""
_SERVED = """() => {
  const found = performance.getEntriesByType("resource").filter(each => each.initiatorType === "fetch");
  const each = found.at(-1) || performance.getEntriesByType("navigation")[0];
  return each.responseEnd - each.startTime;
}"""


def write_class(folder: Path, count: int) -> None:
    """Write results of which `count` answers to two questions wait, each a part of the sample report in own words."""
    from helpers import ledger_of
    from helpers.class_sample import essay, report, submission

    lines = (ROOT / "submissions/paper-only/report.md").read_text(encoding="utf-8").split("\n")
    rows = []
    for number in range((count + 1) // 2):
        first = number % max(1, len(lines) - 40)
        own = "\n".join(f"{line} {number}" if number % 3 and line.strip().endswith(".") else line for line in lines)
        text = "\n".join(own.split("\n")[first : first + 40])
        texts = {"essay": f"[report.md:{first + 1}]\n{text}\n\nstudent {number}", "why": f"{text[:900]}\n{number * 7}"}
        checks = [replace(essay(name, text), basis=f"{name}:{number}") for name, text in texts.items()]
        rows.append(submission(f"student{number:03}", *checks))
    ledger_of.write(folder, report(*rows))


def opened(results: Path, course: Path) -> tuple[subprocess.Popen[str], str]:
    """A desk in a process of its own, and its link."""
    command = [sys.executable, "-u", "-m", "labgrade.cli", "desk", str(results), "--as", "ann"]
    running = subprocess.Popen(command, cwd=course, text=True, stdout=subprocess.PIPE)
    for line in running.stdout or ():
        if found := re.search(r"http://\S+", line):
            return running, found[0]
    message = "the desk did not begin"
    raise SystemExit(message)


def pressed(page: Any, painted: list[float], key: str, wants: str = "") -> float:
    """Milliseconds from a key to what it changes on the screen."""
    page.wait_for_timeout(_PAUSE_MS)
    page.evaluate("wants => sessionStorage.setItem('wants', wants)", wants)
    painted.clear()
    page.keyboard.press(key)
    for _ in range(_MOST_TRIES):
        page.wait_for_timeout(50)
        if painted:
            return painted[0]
    message = f"nothing was painted after {key}"
    raise SystemExit(message)


def marked(page: Any, painted: list[float], most: int) -> dict[str, list[float]]:
    """Mark answers until none waits: milliseconds a key by what it is."""
    found: dict[str, list[float]] = {"key that decides": [], "of it the server": [], "key that only sets points": []}
    page.wait_for_timeout(_PAUSE_MS)
    page.keyboard.press("1")
    page.wait_for_selector("#mark")
    while page.locator("#mark").count() and len(found["key that decides"]) < most:
        if page.locator(".toggle[aria-pressed=true]").count():
            page.keyboard.press("0")
        found["key that only sets points"].append(pressed(page, painted, "f", ".toggle[aria-pressed=true]"))
        found["key that decides"].append(pressed(page, painted, "Enter"))
        found["of it the server"].append(float(page.evaluate(_SERVED)))
    return found


def row(name: str, found: Sequence[float]) -> str:
    """A line of the table."""
    high = statistics.quantiles(found, n=20)[-1] if len(found) > 1 else found[0]
    return f"{name:28}{len(found):6}{statistics.median(found):10.0f}{high:10.0f}{max(found):10.0f}"


def main() -> None:
    """Print a row a kind of key."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--most", type=int, default=60)
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as running:
        results = Path(home, "results")
        (Path(home) / "specs/lab2").mkdir(parents=True)
        (Path(home) / "specs/lab2/lab.yaml").write_text("title: Lab\n", encoding="utf-8")
        if asked.results:
            shutil.copytree(asked.results, results)
        else:
            write_class(results, asked.most)
        desk, link = opened(results, Path(home))
        try:
            browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.add_init_script(_CLOCK)
            painted: list[float] = []
            page.expose_function("painted", lambda took: painted.append(took))  # noqa: PLW0108 - Playwright marks it
            page.goto(link)
            found = marked(page, painted, asked.most)
            browser.close()
        finally:
            desk.terminate()
            desk.wait()
    print(f"{'ms':28}{'keys':>6}{'median':>10}{'95 %':>10}{'most':>10}")
    for name, times in found.items():
        print(row(name, times))


if __name__ == "__main__":
    main()
