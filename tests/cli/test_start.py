"""What every command shares: help without numpy, the version, the demo."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hidiv as hd
from hidiv.cli.main import COMMANDS
from tests.cli.running import hidiv


def test_help_imports_no_numpy() -> None:
    code = (
        "import sys\n"
        "from hidiv.cli.main import commands\n"
        "commands(['--help'], standalone_mode=False)\n"
        "sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "compare" in done.stdout


def test_a_light_call_imports_little() -> None:
    code = (
        "import sys, hidiv as hd\n"
        "m = hd.Model([1.], [[1.]], hd.Categorical([[.5, .5]]))\n"
        "hd.joint_kl(m, m, 5)\n"
        "sys.exit(bool({'scipy', 'numpy.ma', 'numpy.random'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = hidiv(command, "--help")
    assert done.returncode == 0
    assert f"Example:\n    hidiv {command}" in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_version_names_the_kernels() -> None:
    said = hidiv("--version", env={"HIDIV_KERNELS": "python"}).stdout
    assert said.splitlines() == [f"hidiv {hd.__version__}", "kernels: python (asked for by HIDIV_KERNELS)"]


def test_unknown_kernels_are_refused() -> None:
    done = hidiv("demo", env={"HIDIV_KERNELS": "magic"})
    assert done.returncode == 2
    assert done.stderr == "hidiv: HIDIV_KERNELS: must be auto, compiled or python, got magic\n"


def test_demo() -> None:
    said = hidiv("demo").stdout
    assert "5.662866895" in said
    assert "0.6895228846" in said
