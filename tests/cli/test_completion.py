"""Completion in shells, asked for as the shell does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hidiv.cli.main import COMMANDS
from tests.cli.running import hidiv


def completed(line: str) -> list[tuple[str, str]]:
    """(kind, word) for what the tab key offers after `line`."""
    words = line.split(" ")
    asked = {"_HIDIV_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = hidiv(env=asked)
    assert (done.returncode, done.stderr) == (0, "")
    return [(kind, word) for kind, _, word in (offer.partition(",") for offer in done.stdout.splitlines())]


def test_commands() -> None:
    assert completed("hidiv comp") == [("plain", "compare")]
    assert {word for _, word in completed("hidiv ")} == set(COMMANDS)


def test_options_and_choices() -> None:
    assert ("plain", "--fail-above") in completed("hidiv compare --f")
    assert completed("hidiv compare a.json b.json --unit b") == [("plain", "bits")]


@pytest.mark.parametrize("line", ["hidiv compare mo", "hidiv posterior a b --data x", "hidiv sample a --tree tr"])
def test_files(line: str) -> None:
    assert completed(line) == [("file", line.split(" ")[-1])]


def test_trees() -> None:
    assert completed("hidiv sample a --tree ch") == [("plain", "chain:")]
    assert completed("hidiv sample a --tree ") == [("plain", "chain:"), ("plain", "regular:"), ("file", "")]
    assert completed("hidiv sample a --tree reg") == [("plain", "regular:")]


@pytest.mark.parametrize(
    ("shell", "part"), [("bash", "complete -o nosort"), ("zsh", "#compdef hidiv"), ("fish", "complete")]
)
def test_the_script_of_each_shell(shell: str, part: str) -> None:
    assert part in hidiv(env={"_HIDIV_COMPLETE": f"{shell}_source"}).stdout


def test_bash_takes_the_script() -> None:
    folder = Path(sys.executable).parent
    told = subprocess.run(
        ["bash", "-c", f'PATH={folder}:$PATH; eval "$(_HIDIV_COMPLETE=bash_source hidiv)"; complete -p hidiv'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_hidiv_completion hidiv" in told.stdout
