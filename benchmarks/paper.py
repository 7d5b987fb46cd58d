"""hidiv paper against the minute it may take, 10^6 trees included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.timing import Row


def rows() -> Iterator[Row]:
    command = str(Path(sys.executable).with_name("hidiv"))
    with TemporaryDirectory() as folder:
        start = perf_counter()
        subprocess.run([command, "paper", "--out", folder], check=True, capture_output=True)
        yield Row("hidiv paper, all of it", "a minute", perf_counter() - start, 60.0, goal=1.0)
