"""Debian's Chromium and Firefox, each as little as it takes: open an address, ask a page something."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
_SECONDS = 60


class Chromium:
    """Driven by Playwright."""

    def __init__(self, profile):
        playwright = pytest.importorskip(
            "playwright.sync_api", reason="playwright drives Chromium; it is not installed"
        )
        if CHROMIUM is None:
            pytest.skip("no Chromium here; on Debian: apt-get install chromium")
        self._running = playwright.sync_playwright().start()
        self._browser = self._running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self._page = None

    def forget(self):
        """Go on as a browser that has seen nothing."""
        if self._page is not None:
            self._page.context.close()
        self._page = self._browser.new_context().new_page()

    def goto(self, address):
        """Load a page."""
        self._page.goto(address)

    def ask(self, expression):
        """What an expression of JavaScript comes to on the page, once it is settled."""
        return json.loads(self._page.evaluate(f"async () => JSON.stringify((await ({expression})) ?? null)"))

    def close(self):
        """End it."""
        self._browser.close()
        self._running.stop()


class Firefox:
    """Driven by WebDriver BiDi, which it speaks by itself; Playwright drives its own build of it alone."""

    def __init__(self, profile):
        websocket = pytest.importorskip("tornado.websocket", reason="tornado asks Firefox; it is not installed")
        if FIREFOX is None:
            pytest.skip("no Firefox here; on Debian: apt-get install firefox-esr")
        command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = (re.search(r"BiDi listening on (ws://\S+)", line) for line in self._process.stderr)
        address = next(filter(None, said))[1]
        self._loop, self._numbers = asyncio.new_event_loop(), itertools.count(1)

        async def connected():
            return await websocket.websocket_connect(f"{address}/session")

        self._line = self._loop.run_until_complete(connected())
        self._say("session.new", capabilities={})
        self._tab = None

    def forget(self):
        """Go on as a browser that has seen nothing."""
        person = self._say("browser.createUserContext")["userContext"]
        self._tab = self._say("browsingContext.create", type="tab", userContext=person)["context"]

    def goto(self, address):
        """Load a page."""
        self._say("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def ask(self, expression):
        """What an expression of JavaScript comes to on the page, once it is settled."""
        asked = f"(async () => JSON.stringify((await ({expression})) ?? null))()"
        found = self._say("script.evaluate", expression=asked, target={"context": self._tab}, awaitPromise=True)
        return json.loads(found["result"]["value"])

    def close(self):
        """End it."""
        self._say("browser.close")
        self._line.close()
        self._loop.close()
        self._process.stderr.close()
        self._process.wait(_SECONDS)

    def _say(self, method, **params):
        number = next(self._numbers)

        async def replied():
            await self._line.write_message(json.dumps({"id": number, "method": method, "params": params}))
            while (reply := json.loads(await self._line.read_message())).get("id") != number:
                pass
            return reply

        reply = self._loop.run_until_complete(asyncio.wait_for(replied(), _SECONDS))
        assert reply["type"] == "success", reply
        return reply["result"]
