"""One BLAS thread while blocks are computed: blocks run in parallel, and the same block gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS from the first thread of this process that enters until the last one leaves.

    Without threadpoolctl, which the extra dask brings, BLAS keeps its threads: the last bits may then differ.
    """
    global _inside, _limit
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return

    with _lock:
        if _inside == 0:
            _limit = threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit = None
