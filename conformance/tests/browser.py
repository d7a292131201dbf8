"""Chromium with a page from disk, without a network, and everything that it complains about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# From typing in the search field to a page that is laid out again.
_FILTERED = """text => {
  const query = document.getElementById("query"), since = performance.now();
  query.value = text;
  query.dispatchEvent(new Event("input", {bubbles: true}));
  document.body.offsetHeight;
  return performance.now() - since;
}"""
# The yardstick: the same browser reads the list of checks from its JSON text.
_READ = """() => {
  const text = document.getElementById("data").textContent, since = performance.now();
  JSON.parse(text);
  return performance.now() - since;
}"""


@dataclass(slots=True)
class Opened:
    """A page in the browser."""

    page: Any
    complaints: list[str] = field(default_factory=list)  # what the console and the policy say
    asked: list[str] = field(default_factory=list)  # addresses that it asked for, its own first

    def filtered(self, text: str) -> float:
        """The milliseconds until the list shows the checks that have this text."""
        return float(self.page.evaluate(_FILTERED, text))

    def read(self) -> float:
        """The milliseconds until the list of checks is read."""
        return float(self.page.evaluate(_READ))

    @property
    def count(self) -> str:
        """What the page says of the list of checks."""
        return str(self.page.locator("#count").inner_text())

    @property
    def overflow(self) -> int:
        """The pixels that the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@contextmanager
def browser(chromium: str) -> Iterator[Any]:
    """A browser that ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=chromium)
        try:
            yield started
        finally:
            started.close()


def opened(started: Any, file: Path, **view: Any) -> Opened:
    """A file in a window of its own; `view` as for `Browser.new_context`."""
    context = started.new_context(offline=True, **view)
    found = Opened(context.new_page())
    found.page.on("console", lambda message: found.complaints.append(f"{message.type}: {message.text}"))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on("request", lambda request: found.asked.append(request.url))
    found.page.goto(file.as_uri())
    return found
