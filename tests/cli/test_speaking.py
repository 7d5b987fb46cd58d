"""How the command line speaks: help for nothing, guesses at misspelt words, 80 columns, colours only where wanted."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hidiv.cli.speaking import coloured, fitted
from hidiv.cli.text_tables import largest
from hidiv.progress import fitted as cut
from hidiv.progress import time_left
from tests.cli.running import CHAINS, TREES, hidiv, refusal


def test_nothing_shows_the_help() -> None:
    done = hidiv()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == hidiv("--help").stdout
    assert done.stdout.startswith("Usage: hidiv")


@pytest.mark.parametrize(("wrong", "right"), [("comapre", "compare"), ("pairwse", "pairwise"), ("cluter", "cluster")])
def test_a_misspelt_command_is_guessed(wrong: str, right: str) -> None:
    assert refusal(wrong, "a") == f"No such command '{wrong}'; did you mean '{right}'?"


def test_a_report_about_one_model_says_what_is_missing(tmp_path: Path) -> None:
    said = refusal("report", CHAINS[0], "-o", str(tmp_path / "r.html"))
    assert "a report needs two models or more, and the second is missing" in said
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("demo",),
        ("compare", *TREES, "--tree", "regular:2x3", "--montecarlo", "50"),
        ("pairwise", *CHAINS, *CHAINS, *CHAINS, "--tree", "chain:9"),
    ],
)  # fmt: skip
def test_lines_fit_80_columns(words: tuple[str, ...]) -> None:
    done = hidiv(*words)
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_a_row_is_broken_in_its_last_column() -> None:
    row = "observed divergence   0.5  " + "word " * 20
    lines = fitted(row.rstrip()).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(" " * 27 + "word")
    assert fitted("x" * 100) == "x" * 100  # a name is not broken


def test_the_largest_are_sorted_by_size() -> None:
    values = [float((7 * u) % 31) for u in range(31)]
    rows = [float(line.split()[2]) for line in largest(values, "nats").splitlines()]
    assert rows == sorted(values, reverse=True)[:20]
    few = [float(line.split()[2]) for line in largest(values[:5], "nats").splitlines()]
    assert few == values[:5]  # all of them, in their order


def on_a_terminal(*words: str, **env: str) -> str:
    """What the command prints on a terminal."""
    ours, theirs = pty.openpty()
    command = str(Path(sys.executable).with_name("hidiv"))
    surroundings = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | env
    with subprocess.Popen([command, *words], stdout=theirs, stderr=subprocess.DEVNULL, env=surroundings) as running:
        os.close(theirs)
        told = b""
        while True:
            try:
                some = os.read(ours, 4096)
            except OSError:
                break
            if not some:
                break
            told += some
        running.wait(60)
    os.close(ours)
    return told.decode()


def test_colours_are_for_terminals() -> None:
    words = ("compare", *CHAINS, "--tree", "chain:3")
    assert "\x1b[32mexact\x1b[0m" in on_a_terminal(*words)
    assert "\x1b" not in on_a_terminal(*words, NO_COLOR="1")
    assert "\x1b" not in hidiv(*words).stdout
    assert coloured("inexact") == "inexact"


def test_the_time_left() -> None:
    assert time_left(10.0, 0.5) == "about 10 s left"
    assert time_left(10.0, 0.0) == time_left(10.0, 1.0) == time_left(0.2, 0.5) == ""
    assert cut("a" * 50, 20) == "a" * 17 + "..."
