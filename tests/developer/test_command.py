"""The guide for adding a command: its code, run as it stands."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from hidiv.cli import main
from hidiv.errors import HidivError
from tests.cli.running import CHAINS
from tests.developer.guides import python_blocks, run, run_module

GUIDE = "adding_a_command.md"


@pytest.fixture
def hidiv(monkeypatch):
    """`hidiv WORDS` with the guide's command among the others."""
    monkeypatch.setattr(main, "COMMANDS", dict(main.COMMANDS))
    command, line, _ = python_blocks(GUIDE)
    run_module(command, GUIDE, "hidiv.cli.stationary", monkeypatch)
    run(line, GUIDE, COMMANDS=main.COMMANDS)
    return lambda *words: CliRunner().invoke(main.commands, words, catch_exceptions=False)


def test_text_and_json(hidiv):
    run(python_blocks(GUIDE)[2], GUIDE, json=json, pytest=pytest)["test_text_and_json"](hidiv, CHAINS[0])


def test_what_is_refused(hidiv):
    run(python_blocks(GUIDE)[2], GUIDE, pytest=pytest, HidivError=HidivError)["test_what_is_refused"](hidiv)


def test_the_help_lists_it_and_has_an_example(hidiv):
    assert "How often is a long chain in each state?" in hidiv("--help").output
    assert "hidiv stationary rain.json" in hidiv("stationary", "--help").output
