"""Fresh processes: what an import and a first call cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.timing import Row, interleaved

ONE_CALL = """
import hidiv as hd
p = hd.Model([.5, .5], [[.9, .1], [.2, .8]], hd.Categorical([[.1, .3, .6], [.2, .1, .7]]))
q = hd.Model([.5, .5], [[.7, .3], [.4, .6]], hd.Categorical([[.3, .5, .2], [.6, .2, .2]]))
hd.joint_kl(p, q, 100)
"""


def rows() -> Iterator[Row]:
    hidiv = str(Path(sys.executable).with_name("hidiv"))
    python = python_running
    yield interleaved(
        "fresh process, one joint_kl", python(ONE_CALL), "import numpy", python("import numpy"), goal=1.5, rounds=15
    )
    yield interleaved("import hidiv", python("import hidiv"), "bare interpreter", python("pass"), rounds=15)
    yield interleaved("hidiv --help", process([hidiv, "--help"]), "bare interpreter", python("pass"), rounds=15)


def python_running(code: str) -> Callable[[], object]:
    return process([sys.executable, "-c", code])


def process(command: list[str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
