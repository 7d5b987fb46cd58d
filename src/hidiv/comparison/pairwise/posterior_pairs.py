"""All posterior divergences between two lists of models for one piece of evidence, as a matrix product.

D = < n_p(E), log theta_p - log theta_q > + log q(E) - log p(E), n_p(E) the expected counts of p given the evidence: of
its first state, its transitions by group, and its states at each distinct piece of knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, check_on_tree, check_symbols
from hidiv.comparison.collection.collection import title
from hidiv.comparison.pairwise.matrix_product import EPS, Factors, balance, multiply, norms
from hidiv.comparison.pairwise.plan import DirectedPairs, PairsByShape
from hidiv.divergences.posterior.kl import pair_tables
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end, log_weights
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model, by_group
from hidiv.models.tree import Tree
from hidiv.recursions import downward
from hidiv.recursions.posterior_sweep import posterior
from hidiv.recursions.tables import Tables
from hidiv.types import Array

ROUNDINGS = 64.0  # that smoothing and the likelihood may have accumulated, in units of EPS


@dataclass(frozen=True, eq=False)
class PosteriorPairs:
    """Models p and q of a block, the evidence, and the factors of their product."""

    p: tuple[Model, ...]
    q: tuple[Model, ...]
    evidence: Evidence
    tree: Tree
    factors: Factors

    def part(self, first: slice, second: slice) -> PosteriorPairs:
        return replace(self, p=self.p[first], q=self.q[second], factors=self.factors.part(first, second))

    def packed(self) -> PosteriorPairs:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        first, second = multiply(self.factors, out, alike)
        # Where q lacks support that p may have, the recursion decides whether p's posterior has any mass there.
        uncertain = np.nonzero(np.isinf(out))
        pairs = [
            *zip(first.tolist(), second.tolist(), strict=True),
            *zip(*(i.tolist() for i in uncertain), strict=True),
        ]
        for i, j in pairs:
            pair, layout = pair_tables(self.p[i], self.q[j], self.evidence, self.tree, "states", None)
            out[i, j] = posterior(pair, layout).value
        return len(pairs)


@dataclass(frozen=True, eq=False)
class _ExpectedCounts:
    """The expected counts of one model given the evidence, and the logarithms they are multiplied with."""

    counts: Array  # (F,)
    logs: Array  # (F,), may hold -inf
    log_likelihood: float


def posterior_pairs(left: ModelsByShape, right: ModelsByShape, evidence: Any, tree: Any) -> DirectedPairs:
    """The pairs of every shape group of p with every one of q, for one piece of evidence; states paired by label."""
    known, nodes = evidence_and_tree(evidence, tree)
    check_symbols(left, right)
    check_on_tree(left, nodes, "models")
    check_on_tree(right, nodes, "others")
    everyone = [group.models for group in (*left.groups, *right.groups)]
    groups = max(models.transitions.shape[1] for models in everyone)
    most = max(everyone, key=lambda models: len(models.emissions))
    rows = lay_out(known, nodes, most[0])
    if most.end is not None:
        rows = with_ends(rows, np.array([nodes.n_nodes - 1]))

    def expected(models: ModelsByShape, list_name: str) -> list[tuple[tuple[Model, ...], list[_ExpectedCounts]]]:
        by_group = []
        for group, places in models.groups:
            each = tuple(group)
            titles = [title(int(i), model.name, list_name) for i, model in zip(places, each, strict=True)]
            counts = [_expect(model, rows, nodes, groups, t) for model, t in zip(each, titles, strict=True)]
            by_group.append((each, counts))
        return by_group

    ps = expected(left, "models")
    qs = ps if right is left else expected(right, "others")
    pairs: PairsByShape = {
        (a, b): PosteriorPairs(p, q, known, nodes, _factors(of_p, of_q))
        for a, (p, of_p) in enumerate(ps)
        for b, (q, of_q) in enumerate(qs)
    }
    return DirectedPairs(pairs, [], "exact")


def _expect(model: Model, rows: EvidenceRows, tree: Tree, groups: int, who: str) -> _ExpectedCounts:
    """Expected counts of one model given the evidence, in the order of its logarithms."""
    check_end(model, tree)
    weights = log_weights(model, rows, tree)
    transitions = by_group(model.transitions, groups)
    layout = rows.layout(tree, groups)
    smoothed = downward.smooth(Tables(model.initial, transitions, weights), layout)
    if smoothed.impossible is not None:
        refuse_impossible(model, smoothed.impossible, who)
    assert smoothed.pairs is not None
    by_row, by_transition = np.zeros_like(weights), np.zeros_like(transitions)
    nodes = np.arange(tree.n_nodes)
    np.add.at(by_row, layout.rows(nodes), smoothed.marginals)
    np.add.at(by_transition, layout.transitions(nodes[1:]), smoothed.pairs[1:])
    with np.errstate(divide="ignore"):
        logs = [np.log(model.initial), np.log(transitions).ravel(), weights.ravel()]
    counts = [smoothed.marginals[0], by_transition.ravel(), by_row.ravel()]
    return _ExpectedCounts(np.concatenate(counts), np.concatenate(logs), smoothed.log_likelihood)


def _factors(p: list[_ExpectedCounts], q: list[_ExpectedCounts]) -> Factors:
    """The factors of the product of p's counts and q's logarithms, evidence included."""
    counts = np.stack([each.counts for each in p])
    logs_p, logs_q = (np.stack([each.logs for each in models]) for models in (p, q))
    evidence_p, evidence_q = (np.array([each.log_likelihood for each in models]) for models in (p, q))
    missing = np.isneginf(logs_q)
    own = (counts * np.where(np.isneginf(logs_p), 0.0, logs_p)).sum(axis=1) - evidence_p
    logs_q = np.where(missing, 0.0, logs_q)
    lacking = np.flatnonzero(missing.any(axis=0))
    scale = balance(counts, logs_q)
    ones = np.ones((len(p), 1)), np.ones((len(q), 1))
    error = (ROUNDINGS + sqrt(counts.shape[1])) * EPS
    return Factors(
        np.column_stack([counts, own, ones[0]]),
        np.column_stack([-logs_q, ones[1], evidence_q]),
        error * np.column_stack([norms(counts * scale), np.abs(own) + np.abs(evidence_p), ones[0]]),
        np.column_stack([norms(logs_q / scale), ones[1], np.abs(evidence_q)]),
        (logs_p[:, lacking] > -np.inf).astype(np.float32) if lacking.size else None,
        missing[:, lacking].astype(np.float32) if lacking.size else None,
    )
