"""Memory: what a divergence along ten million symbols needs beyond its input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

CODE = """
import resource, numpy as np, hidiv as hd
rng = np.random.default_rng(1)
rows = lambda k: rng.dirichlet(np.ones(k), 4)
p, q = (hd.Model(rows(4)[0], rows(4), hd.Categorical(rows(10))) for _ in range(2))
hd.posterior_kl(p, q, rng.integers(0, 10, 1000))
x = rng.integers(0, 10, 10**7)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
hd.posterior_kl(p, q, x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


class Megabytes:
    """A row that holds memory, not time."""

    def __init__(self, used: float, work: str = "posterior_kl, 1e7 symbols, K=4, value only") -> None:
        self.used = used
        self.work = work

    def line(self) -> str:
        met = "met" if self.used <= 50 else "MISSED"
        return f"| {self.work} | peak memory beyond the input | {self.used:.0f} MB | | | <= 50 MB {met} |"


def rows() -> Iterator[Megabytes]:
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    yield Megabytes(float(done.stdout))
