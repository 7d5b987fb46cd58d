"""After the tests in the environments of make test-adapters: the table of the largest differences."""

from __future__ import annotations

from tests.adapters.agreement import LARGEST


def pytest_terminal_summary(terminalreporter):
    if LARGEST:
        terminalreporter.section("largest relative difference of log-likelihoods")
    for name, apart in LARGEST.items():
        terminalreporter.line(f"  {name:40} {apart:.1e}")
