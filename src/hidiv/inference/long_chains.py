"""Long chains, weighed a part at a time: no table as long as the chain is ever there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.errors import HidivError
from hidiv.inference.rows import EvidenceRows, lay_out, part_of, with_ends
from hidiv.inference.weights import log_weights, near
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.kernels import are_compiled
from hidiv.recursions.upward import likelihood_stream
from hidiv.types import Array

LONG = 1 << 14  # nodes from which on a chain is weighed in parts
NUMBERS = 1 << 17  # of a table of a part: one megabyte


@dataclass(frozen=True, eq=False)
class LongChain:
    """The rows of a chain, one a node, and how many of them are weighed at once."""

    rows: EvidenceRows
    at_once: int

    @property
    def in_cache(self) -> int:
        """How many rows are weighed at once by a kernel, which has no need to save calls of Python."""
        return max(self.at_once // 512 * 64, 1024)

    def part(self, first: int, end: int) -> EvidenceRows:
        """The rows of the nodes first..end-1."""
        return part_of(self.rows, first, end)


def long_chain(model: Model, evidence: Evidence, tree: Tree) -> LongChain | None:
    """The chain, where it is long, its nodes share no rows and kernels are compiled; else None."""
    if tree.n_nodes < LONG or not tree.is_chain or not are_compiled():
        return None
    space = model.emissions[0].space
    if evidence.is_plain and model.n_features == 1 and space.n_symbols is not None:  # nodes share the rows of symbols
        return None
    rows = lay_out(evidence, tree, model, large=not space.is_counts)  # those are looked up
    if model.end is not None:
        rows = with_ends(rows, np.array([tree.n_nodes - 1]))
    if rows.row_of is not None or isinstance(rows.symbols, dict) or isinstance(rows.states, dict):
        return None
    return LongChain(rows, max(NUMBERS // model.n_states, 1024) // 64 * 64)


def log_likelihood_of_long_chain(model: Model, evidence: Evidence, tree: Tree) -> float | None:
    """log P(E); None where tables are the way: short or shared rows, zeros, impossible evidence."""
    chain = long_chain(model, evidence, tree)
    if chain is None:
        return None
    shifts: dict[int, float] = {}

    def make(first: int, end: int) -> tuple[Array, None, None]:
        rows = chain.part(first, end)
        weights, shift = near(model, rows, log_weights(model, rows, tree), accurate=False)
        shifts[first] = 0.0 if shift is None else float(shift.sum(dtype=np.longdouble))
        return weights, None, None

    laws, chunk = model.emissions[0].normal_laws if chain.rows.plain else None, chain.at_once
    normal = None
    if laws is not None:
        normal, chunk = (np.ascontiguousarray(chain.rows.x), laws), chain.in_cache
    group = tree.group if len(model.transitions) > 1 else None
    try:
        counts = model.emissions[0].count_tables(chain.rows.x) if chain.rows.plain and normal is None else None
        chunk = chunk if counts is None else chain.in_cache
        value = likelihood_stream(tree.n_nodes, group, model.initial, model.transitions, make, chunk, normal, counts)
    except HidivError:  # whose message is to name the node
        return None
    return None if value is None else value + sum(shifts.values())
