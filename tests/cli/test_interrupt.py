"""Ctrl-C keeps what was finished."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from tests.cli.running import CHAINS, refusal

TICKS = os.sysconf("SC_CLK_TCK")


def interrupted_when(pattern: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with standard error on a terminal, sent SIGINT as soon as that shows the pattern."""
    command = [str(Path(sys.executable).with_name("hidiv")), *words]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as child:
        os.close(theirs)
        seen = ""
        while not re.search(pattern, seen):
            seen += os.read(ours, 1024).decode()
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    with suppress(OSError):  # the end of a terminal
        while more := os.read(ours, 1024).decode():
            seen += more
    os.close(ours)
    return subprocess.CompletedProcess(command, child.returncode, said, seen.replace("\r\n", "\n"))


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
    assert re.search(r"by Monte Carlo .*interrupted after \d+ of 1000000000 draws", " ".join(done.stdout.split()))
    assert done.stderr == "hidiv: interrupted, what was finished by then was kept\n"


def test_posterior_prints_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0\n1\n2\n")
    done = interrupted("posterior", *CHAINS, "--data", str(tmp_path / "x.csv"), "--montecarlo", "1000000000")
    assert done.returncode == 130
    assert "posterior divergence" in done.stdout
    assert "interrupted after" in done.stdout


def test_paper_keeps_what_it_has(tmp_path: Path) -> None:
    done = interrupted_when(r"Table I, 1000000 trials", "paper", "--out", str(tmp_path))
    assert done.returncode == 130
    assert "not finished: Table I, 10^6 trials\n" in done.stderr
    assert done.stderr.endswith("hidiv: interrupted, what was finished by then was kept\n")
    told = json.loads((tmp_path / "paper.json").read_text())
    assert told["missing"] == ["Table I, 10^6 trials"]
    assert [one["n_samples"] for one in told["trees"]["estimates"]] == [100, 1000, 10**4, 10**5]
    assert len(told["verdicts"]) == 14
    assert "**Not finished: Table I, 10^6 trials.**" in (tmp_path / "summary.md").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"paper.html", "summary.md", "paper.json"} | {
        f"{name}.{kind}" for name in ("figure-1", "table-1", "figure-2", "figure-3") for kind in ("png", "svg")
    }


def test_pairwise_keeps_finished_blocks(tmp_path: Path) -> None:
    options = ["--tree", "chain:100", "--quantity", "observed", "--samples", "400", "--json"]
    models = [path for i in range(60) for path in CHAINS]
    for name in ("d.csv", "d.npz"):
        out = str(tmp_path / name)
        done = interrupted_when(r"[1-9]\d* of \d+ blocks", "pairwise", *models, *options, "--out", out)
        assert done.returncode == 130
        note = json.loads(done.stdout)["notes"][-1]
        finished = int(re.fullmatch(r"interrupted: (\d+) of 14400 pairs are finished, the others are missing", note)[1])
        assert 0 < finished < 14400
        assert finished % 120 == 0  # whole rows
        assert note in done.stderr
        if name == "d.csv":
            cells = [cell for line in Path(out).read_text().splitlines()[1:] for cell in line.split(",")[1:]]
            assert len(cells) - cells.count("") == finished
            assert np.isfinite([float(cell) for cell in cells if cell]).all()
        else:
            with np.load(out, allow_pickle=False) as held:
                assert held["finished"].sum() == finished
                assert (np.isnan(held["matrix"]) == (held["finished"] == 0)).all()
        assert "was interrupted" in refusal("cluster", out)


def test_nothing_finished_is_said_so() -> None:
    done = interrupted("sample", CHAINS[0], "--tree", "chain:30000000")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nhidiv: interrupted\n")
