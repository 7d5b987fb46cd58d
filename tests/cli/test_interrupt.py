"""Ctrl-C keeps what was finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.running import CHAINS

TICKS = os.sysconf("SC_CLK_TCK")


def interrupted(*words: str) -> subprocess.CompletedProcess[str]:
    """The command, sent SIGINT once it has used two seconds of processor: the start and all that is quick takes one."""
    command = [str(Path(sys.executable).with_name("hidiv")), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while child.poll() is None and _seconds(child.pid) < 2.0:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        said, complained = child.communicate(timeout=60)
        return subprocess.CompletedProcess(command, child.returncode, said, complained)


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def test_compare_prints_what_it_has() -> None:
    done = interrupted("compare", *CHAINS, "--tree", "chain:10", "--montecarlo", "1000000000")
    assert done.returncode == 130
    assert "joint divergence" in done.stdout
    assert "5.662866895" in done.stdout
    assert "by Monte Carlo" not in done.stdout
    assert done.stderr == "hidiv: interrupted, what was finished by then is above\n"


def test_posterior_prints_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0\n1\n2\n")
    done = interrupted("posterior", *CHAINS, "--data", str(tmp_path / "x.csv"), "--montecarlo", "1000000000")
    assert done.returncode == 130
    assert "posterior divergence" in done.stdout


def test_nothing_finished_is_said_so() -> None:
    done = interrupted("sample", CHAINS[0], "--tree", "chain:30000000")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nhidiv: interrupted\n")
