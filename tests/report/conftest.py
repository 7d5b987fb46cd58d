"""The system's Chromium: without it tests in a browser fail in CI, and elsewhere the summary says they did not run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
UNSEEN: list[str] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHROMIUM is not None or os.environ.get("CI"):
        return
    inside = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    UNSEEN.extend(item.nodeid for item in inside)
    config.hook.pytest_deselected(items=inside)
    items[:] = [item for item in items if item not in inside]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if UNSEEN:
        terminalreporter.write_line(
            f"No Chromium here: {len(UNSEEN)} tests of pages in a browser did NOT run (apt-get install chromium).",
            yellow=True,
        )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.fail("no Chromium on this machine; install Debian's package chromium")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()
