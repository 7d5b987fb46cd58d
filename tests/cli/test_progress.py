"""Long work shows how far it is on a terminal, and nothing in a pipe."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.running import CHAINS

LONG = "1000000000"  # draws: nobody waits for them


def test_a_bar_on_a_terminal_and_none_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0\n1\n2\n" * 5)
    words = [str(Path(sys.executable).with_name("hidiv")), "posterior", *CHAINS, "--data", str(tmp_path / "x.csv")]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*words, "--montecarlo", LONG], stdout=subprocess.PIPE, stderr=theirs, text=True) as child:
        os.close(theirs)
        seen = ""
        while "drawing [" not in seen:
            seen += os.read(ours, 1024).decode()
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    os.close(ours)
    assert child.returncode == 130
    assert "posterior divergence" in said
    assert "drawing" not in said
    quiet = subprocess.run([*words, "--montecarlo", "300000"], capture_output=True, text=True, check=True, timeout=60)
    assert quiet.stderr == ""
    assert "by Monte Carlo" in quiet.stdout
