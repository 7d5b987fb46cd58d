"""Compiled kernels: C-contiguous arrays of exactly these types; each has a numpy twin in hidiv.recursions.

Those that read a Law give None where the numbers are out of their range (recursions/kernels.py).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def target() -> str:
    """The instruction set in use."""

def targets() -> list[str]:
    """Those this processor can run, best first."""

def set_target(name: str) -> None:
    """Use another one (for tests and measurements)."""

def levels(parent: NDArray[np.int64]) -> NDArray[np.int64]: ...
def inward(
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    transition: NDArray[np.float64],
    own: NDArray[np.float64],
    root: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def downward(
    initial: NDArray[np.float64],
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    transition: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def visits(
    initial: NDArray[np.float64],
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    transition: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def level_visits(
    initial: NDArray[np.float64],
    transition: NDArray[np.float64],
    count: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def reach(
    start: NDArray[np.bool_],
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    allowed: NDArray[np.bool_],
) -> NDArray[np.bool_]: ...

Law = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
Indices = NDArray[np.int32] | NDArray[np.int64]
Places = tuple[NDArray[np.int64] | None, NDArray[np.int64] | None, Indices | None]

def posterior_value(
    n_nodes: int,
    places: Places,
    p: Law,
    q: Law,
    ratio: Law,
    residual: NDArray[np.float64] | None,
    by_node: bool,
    threads: int = 0,
) -> tuple[float, float, float, NDArray[np.float64] | None, tuple[int, int, int], int, int]: ...
def likelihood_value(n_nodes: int, places: Places, law: Law) -> tuple[float, int]: ...
def expected_counts(
    start: NDArray[np.int64], places: Places, law: Law, threads: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def smoothed(
    n_nodes: int, places: Places, law: Law, with_pairs: bool
) -> tuple[float, NDArray[np.float64], NDArray[np.float64] | None, int]: ...
def entropies(n_nodes: int, places: Places, law: Law) -> tuple[NDArray[np.float64], int]: ...
def best_states(n_nodes: int, places: Places, law: Law) -> tuple[NDArray[np.int64], float, int]: ...
def influences(
    n_nodes: int, places: Places, law: Law, unseen: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]: ...
def drawn_states(
    n_nodes: int, places: Places, law: Law, uniform: NDArray[np.float64]
) -> tuple[NDArray[np.int64], int]: ...
def posterior_sequences(
    start: NDArray[np.int64],
    places: Places,
    p: Law,
    q: Law,
    ratio: Law,
    residual: NDArray[np.float64] | None,
    threads: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def posterior_normal_sequences(
    start: NDArray[np.int64],
    p: tuple[NDArray[np.float64], NDArray[np.float64]],
    q: tuple[NDArray[np.float64], NDArray[np.float64]],
    ratio: tuple[NDArray[np.float64], NDArray[np.float64]],
    normal: tuple[Any, ...],
    limit: float,
    threads: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None: ...
def variational_pairs(
    kinds: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
    own: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    p: tuple[NDArray[np.float64], NDArray[np.float64]],
    q: tuple[NDArray[np.float64], NDArray[np.float64]],
    emission: NDArray[np.float64],
    threads: int = 0,
) -> NDArray[np.float64]: ...
def product_pairs(
    kinds: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
    p: tuple[NDArray[np.float64], NDArray[np.float64]],
    q: tuple[NDArray[np.float64], NDArray[np.float64]],
    log_phi: NDArray[np.float64],
    threads: int = 0,
) -> NDArray[np.float64]: ...
def products(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    bound: NDArray[np.float64],
    alike: bool,
    out: NDArray[np.float64],
    threads: int = 1,
) -> NDArray[np.bool_]: ...
def mean_laws(
    initial: NDArray[np.float64],
    transition: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def elementary(which: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """0 exp, 1 to 3 log1p for x >= 0, 4 to 6 phi within 2^-6, 2^-3, 1, 7 log, as vectors have them (for tests)."""

def chain_sums(
    p: Law,
    q: Law,
    row_of: NDArray[np.int64],
    points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    following: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    logs: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    symbols: bool,
    products: bool,
    last: int,
    threads: int = 0,
    value: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None,
    counts: bool = True,
) -> NDArray[np.float64] | None: ...
def belief_grid(
    transition_p: NDArray[np.float64],
    probabilities_p: NDArray[np.float64],
    transition_q: NDArray[np.float64],
    probabilities_q: NDArray[np.float64],
    start: NDArray[np.float64],
    start_states: NDArray[np.bool_],
    ticks: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.float64], ...] | None: ...
def spread_sweeps(
    transition: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    index: NDArray[np.int32],
    weights: NDArray[np.float64],
    cost: NDArray[np.float64],
    reached: NDArray[np.bool_],
    values: NDArray[np.float64],
    count: int,
    logarithmic: bool,
) -> tuple[NDArray[np.float64], float, float]: ...
def tangent_sweeps(
    transition_p: NDArray[np.float64],
    probabilities_p: NDArray[np.float64],
    transition_q: NDArray[np.float64],
    probabilities_q: NDArray[np.float64],
    points: NDArray[np.float64],
    index: NDArray[np.int32],
    weights: NDArray[np.float64],
    reached: NDArray[np.bool_],
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
    count: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]: ...
def chance_sweeps(
    index: NDArray[np.int32],
    weights: NDArray[np.float64],
    chance: NDArray[np.float64],
    cost: NDArray[np.float64],
    values: NDArray[np.float64],
    count: int,
) -> tuple[NDArray[np.float64], float, float]: ...
def cross_contexts(
    law: NDArray[np.float64],
    transition_p: NDArray[np.float64],
    probabilities_p: NDArray[np.float64],
    middle: NDArray[np.float64],
    transition_q: NDArray[np.float64],
    probabilities_q: NDArray[np.float64],
    threshold: float,
    depth: int,
    limit: int,
) -> tuple[float, float, int, int, bool]: ...
def chain_contexts(
    initial_p: NDArray[np.float64],
    laws: NDArray[np.float64],
    transition_p: NDArray[np.float64],
    probabilities_p: NDArray[np.float64],
    initial_q: NDArray[np.float64],
    middle: NDArray[np.float64],
    transition_q: NDArray[np.float64],
    probabilities_q: NDArray[np.float64],
    entropy: bool,
    threshold: float,
    depth: int,
    limit: int,
) -> tuple[float, float, int, int, bool]: ...
def entropy_contexts(
    law: NDArray[np.float64],
    transition: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    threshold: float,
    depth: int,
    limit: int,
) -> tuple[float, float, int, int, bool]: ...
def weighted_sums(x: NDArray[np.float64], weight: NDArray[np.float64], threads: int = 0) -> NDArray[np.float64]: ...
def weighted_squares(
    x: NDArray[np.float64], weight: NDArray[np.float64], mean: NDArray[np.float64], threads: int = 0
) -> NDArray[np.float64]: ...
def weighted_products(
    x: NDArray[np.float64], weight: NDArray[np.float64], mean: NDArray[np.float64], threads: int = 0
) -> NDArray[np.float64]: ...
def normal_table(
    x: NDArray[np.float64],
    p: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    threads: int = 0,
    limit: float = 1e300,
) -> tuple[NDArray[np.float64], bool]: ...
def normal_tables(
    x: NDArray[np.float64],
    p: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    q: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    between: tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    with_q: bool,
    threads: int = 0,
    limit: float = 1e300,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64], bool]: ...
def curve_table(
    x: NDArray[np.float64], p: tuple[int, NDArray[np.float64], NDArray[np.float64]], threads: int = 0
) -> tuple[NDArray[np.float64], bool]: ...
def curve_tables(
    x: NDArray[np.float64],
    p: tuple[int, NDArray[np.float64], NDArray[np.float64]],
    q: tuple[int, NDArray[np.float64], NDArray[np.float64]],
    between: tuple[NDArray[np.float64], NDArray[np.float64]],
    threads: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], bool]: ...
def mixture_table(
    tables: Sequence[NDArray[np.float64]], weights: NDArray[np.float64], threads: int = 0
) -> tuple[NDArray[np.float64], bool]: ...
def mixture_tables(
    tables_p: Sequence[NDArray[np.float64]],
    tables_q: Sequence[NDArray[np.float64]],
    ratios: Sequence[NDArray[np.float64]],
    weights_p: NDArray[np.float64],
    weights_q: NDArray[np.float64],
    weights_ratio: NDArray[np.float64],
    threads: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], bool]: ...
def count_table(
    x: NDArray[np.float64],
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    values: NDArray[np.float64],
    threads: int = 0,
) -> tuple[NDArray[np.float64], bool]: ...
def distinct_counts(
    x: NDArray[np.float64], widest: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]], NDArray[np.int64]] | None: ...
def likelihood_stream(
    n_nodes: int,
    transition_of: NDArray[np.int64] | None,
    initial: NDArray[np.float64],
    transition: NDArray[np.float64],
    make: Callable[[int, int], tuple[NDArray[np.float64], None, None]],
    chunk: int,
    normal: tuple[Any, ...] | None = None,
    counts: tuple[Any, ...] | None = None,
) -> float | None: ...
def posterior_stream(
    n_nodes: int,
    transition_of: NDArray[np.int64] | None,
    p: tuple[NDArray[np.float64], NDArray[np.float64]],
    q: tuple[NDArray[np.float64], NDArray[np.float64]],
    ratio: tuple[NDArray[np.float64], NDArray[np.float64]],
    make: Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]],
    chunk: int,
    normal: tuple[Any, ...] | None = None,
    counts: tuple[Any, ...] | None = None,
) -> tuple[float, float, float] | None: ...
