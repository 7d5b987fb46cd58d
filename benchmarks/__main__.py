"""python -m benchmarks [name ...]: the tables of ratios, all of them or those named."""

from __future__ import annotations

import platform
import sys
from importlib import import_module

from benchmarks.timing import HEADER
from hidiv.recursions.kernels import description

TABLES = (
    "joint",
    "start",
    "posterior",
    "real_valued",
    "trees",
    "memory",
    "observed_mc",
    "field_models",
    "certify",
    "pairwise",
    "nearest",
    "measures",
    "fit",
    "simd",
    "paper",
)


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        sys.exit(f"benchmarks: no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    print(f"hidiv kernels: {description()}; {platform.machine()}, Python {platform.python_version()}\n")
    print(HEADER)
    for name in names or TABLES:
        for row in import_module(f"benchmarks.{name}").rows():
            print(row.line(), flush=True)


main(sys.argv[1:])
