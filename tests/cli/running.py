"""The installed command, run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

CHAINS = [str(files("hidiv.cli") / "models" / f"chain_{side}.json") for side in "pq"]
TREES = [str(files("hidiv.cli") / "models" / f"tree_{side}.json") for side in "pq"]


def hidiv(*words: str, stdin: str | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`hidiv WORDS`, with what it printed and its exit code."""
    command = str(Path(sys.executable).with_name("hidiv"))
    return subprocess.run(
        [command, *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
    )


def refusal(*words: str, stdin: str | None = None) -> str:
    """The one sentence of a refused command: exit code 2, nothing on stdout, no traceback."""
    done = hidiv(*words, stdin=stdin)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("hidiv: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("hidiv: ").rstrip("\n")
