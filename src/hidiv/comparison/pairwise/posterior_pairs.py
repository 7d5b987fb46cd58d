"""All posterior divergences between two lists of models for one piece of evidence, as a product.

D = < n_p(E), log theta_p - log theta_q > + log q(E) - log p(E), n_p(E) what p expects given the evidence: its first
state, its transitions by group, and its states at each distinct piece of knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves, check_on_tree
from hidiv.comparison.collection.collection import title
from hidiv.comparison.pairwise.joint_block import multiply
from hidiv.comparison.pairwise.plan import Pairs
from hidiv.comparison.pairwise.product import EPS, Factors, balance, norms
from hidiv.divergences.joint.visits import by_group
from hidiv.divergences.posterior.kl import pair_tables
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end, layout_of, log_weights
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions import downward
from hidiv.recursions.posterior_sweep import posterior
from hidiv.recursions.tables import Tables
from hidiv.types import Array

LOSSES = 64.0  # roundings that smoothing and the likelihood may have gone through


@dataclass(frozen=True, eq=False)
class PosteriorBlock:
    """Models p and q of a block, the evidence, and the factors of their product."""

    p: tuple[Model, ...]
    q: tuple[Model, ...]
    evidence: Evidence
    tree: Tree
    factors: Factors

    def part(self, first: slice, second: slice) -> PosteriorBlock:
        return replace(self, p=self.p[first], q=self.q[second], factors=self.factors.part(first, second))

    def packed(self) -> PosteriorBlock:
        return self

    def fill(self, out: Array, alike: bool) -> int:
        first, second = multiply(self.factors, out, alike)
        # Where q lacks support that p may have, the recursion decides whether p's posterior has any mass there.
        unsure = np.nonzero(np.isinf(out))
        pairs = [*zip(first.tolist(), second.tolist(), strict=True), *zip(*(i.tolist() for i in unsure), strict=True)]
        for i, j in pairs:
            pair, layout, _ = pair_tables(self.p[i], self.q[j], self.evidence, self.tree, "states", None)
            out[i, j] = posterior(pair, layout).value
        return len(pairs)


@dataclass(frozen=True, eq=False)
class _Given:
    """What one model expects given the evidence."""

    counts: Array  # (F,)
    logs: Array  # (F,), may hold -inf
    log_likelihood: float


def posterior_pairs(left: Shelves, right: Shelves, evidence: Any, tree: Any) -> dict[tuple[int, int], Pairs]:
    """The pairs of every shelf of p with every shelf of q, for one piece of evidence; states paired by label."""
    known, on = evidence_and_tree(evidence, tree)
    check_on_tree(left, on, "models")
    check_on_tree(right, on, "others")
    everyone = [shelf.models for shelf in (*left.shelves, *right.shelves)]
    groups = max(models.transitions.shape[1] for models in everyone)
    most = max(everyone, key=lambda models: len(models.emissions))
    rows = lay_out(known, on, most[0])
    if most.end is not None:
        rows = with_ends(rows, np.array([on.n_nodes - 1]))

    def given(shelves: Shelves, what: str) -> list[tuple[tuple[Model, ...], list[_Given]]]:
        found = []
        for models, places in shelves.shelves:
            each = tuple(models)
            titles = [title(int(i), model.name, what) for i, model in zip(places, each, strict=True)]
            found.append((each, [_expect(m, rows, on, groups, t) for m, t in zip(each, titles, strict=True)]))
        return found

    ps = given(left, "models")
    qs = ps if right is left else given(right, "others")
    return {
        (a, b): PosteriorBlock(p, q, known, on, _factors(of_p, of_q))
        for a, (p, of_p) in enumerate(ps)
        for b, (q, of_q) in enumerate(qs)
    }


def _expect(model: Model, rows: EvidenceRows, tree: Tree, groups: int, who: str) -> _Given:
    check_end(model, tree)
    weights = log_weights(model, rows, tree)
    transitions = by_group(model.transitions, groups)
    layout = layout_of(groups, tree, rows)
    found = downward.smooth(Tables(model.initial, transitions, weights), layout)
    if found.impossible is not None:
        refuse_impossible(model, found.impossible, who)
    assert found.pairs is not None
    by_row, by_transition = np.zeros_like(weights), np.zeros_like(transitions)
    nodes = np.arange(tree.n_nodes)
    np.add.at(by_row, layout.rows(nodes), found.marginals)
    np.add.at(by_transition, layout.transitions(nodes[1:]), found.pairs[1:])
    with np.errstate(divide="ignore"):
        logs = [np.log(model.initial), np.log(transitions).ravel(), weights.ravel()]
    counts = [found.marginals[0], by_transition.ravel(), by_row.ravel()]
    return _Given(np.concatenate(counts), np.concatenate(logs), found.log_likelihood)


def _factors(p: list[_Given], q: list[_Given]) -> Factors:
    counts = np.stack([each.counts for each in p])
    logs_p, logs_q = (np.stack([each.logs for each in side]) for side in (p, q))
    evidence_p, evidence_q = (np.array([each.log_likelihood for each in side]) for side in (p, q))
    missing = np.isneginf(logs_q)
    own = (counts * np.where(np.isneginf(logs_p), 0.0, logs_p)).sum(axis=1) - evidence_p
    logs_q = np.where(missing, 0.0, logs_q)
    lacking = np.flatnonzero(missing.any(axis=0))
    scale = balance(counts, logs_q)
    ones = np.ones((len(p), 1)), np.ones((len(q), 1))
    error = (LOSSES + sqrt(counts.shape[1])) * EPS
    return Factors(
        np.column_stack([counts, own, ones[0]]),
        np.column_stack([-logs_q, ones[1], evidence_q]),
        error * np.column_stack([norms(counts * scale), np.abs(own) + np.abs(evidence_p), ones[0]]),
        np.column_stack([norms(logs_q / scale), ones[1], np.abs(evidence_q)]),
        (logs_p[:, lacking] > -np.inf).astype(np.float32) if lacking.size else None,
        missing[:, lacking].astype(np.float32) if lacking.size else None,
    )
