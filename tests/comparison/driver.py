"""A run meant to be killed: python -m tests.comparison.driver STORE [SCHEDULER]; says each block it has done."""

from __future__ import annotations

import sys
import time

import hidiv as hd
from tests.comparison.many import stacked

TREE, MEMORY = 30, 64 * 20**2  # blocks of 20 x 20


def models():
    return stacked(150, 7)


def matrix(**options):
    return hd.pairwise_kl(models(), TREE, memory=MEMORY, **options)


def tell(done, total):
    print(done, total, flush=True)
    time.sleep(0.1)  # leaves time to be killed in


def main():
    store, scheduler = sys.argv[1], sys.argv[2:]
    executor = "serial"
    if scheduler:
        from distributed import Client

        executor = Client(scheduler[0])
    matrix(store=store, executor=executor, progress=tell)


if __name__ == "__main__":
    main()
