"""What holds for all tests.

Tests in a browser: without Chromium they fail in CI, and elsewhere the last line says that they did not run.
"""

from __future__ import annotations

import os
import shutil
import signal

import pytest

# Tests run side by side: threads of BLAS would only wait for each other, at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A shell starts background jobs deaf to Ctrl-C, and commands started from there would be too.
signal.signal(signal.SIGINT, signal.default_int_handler)
NOT_RUN = CHROMIUM is None and not os.environ.get("CI")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if NOT_RUN:
        inside = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=inside)
        items[:] = [item for item in items if item not in inside]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if NOT_RUN:
        terminalreporter.write_line("No Chromium here: pages were NOT tested in a browser (apt-get install chromium).")
