"""The divergence of what is hidden given the evidence, exact on any tree (definitions (2.2))."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from hidiv.divergences.infinite import infinite
from hidiv.divergences.joint.local_terms import state_in_words
from hidiv.divergences.joint.visits import by_group
from hidiv.divergences.pair import Pair, check_same_states, families, subject
from hidiv.divergences.result import Detail, Divergence
from hidiv.emissions.evidence.log_ratios import pair_weights, residual, weight_ratio
from hidiv.errors import HidivError, IncompatibleModels, InvalidEvidence, refuse
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end, far_rows, layout_of, log_weights, moved, relative, settled, symbol_sets
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree
from hidiv.recursions.infinite_profile import infinite_profile
from hidiv.recursions.layout import Layout
from hidiv.recursions.posterior_sweep import Posterior, posterior
from hidiv.recursions.tables import PairTables, Tables
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray

Target = Literal["states", "unobserved"]


def posterior_kl(
    p: Any, q: Any, evidence: Any, tree: Any = None, *, target: Target = "states", evidence_q: Any = None
) -> Divergence:
    """Divergence of what is hidden given the evidence, exact on any chain or tree.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states.
    evidence : Evidence or array
        What is known, node by node.
    tree : Tree or int, optional
        The tree; the chain as long as the evidence when left out.
    target : {"states", "unobserved"}, default "states"
        Compare the hidden states, or everything that is not known, unseen observations included.
    evidence_q : Evidence or array, optional
        Evidence for q, where it is another than that for p; states only.

    Returns
    -------
    Divergence
        Exact. `.by_node` is the profile along the tree. +inf where p's posterior reaches a state to which q's gives no
        mass.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.
    ImpossibleEvidence
        Where either model cannot produce the evidence; the message names the first node where it fails.

    Notes
    -----
    Definitions (2.2), and (2.3) for the profile.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7], [0.6, 0.4]]))
    >>> hd.posterior_kl(p, q, [1, 1, 0])
    posterior divergence D(p || q) on a chain of 3 nodes = 0.185839217678 nats, exact
    """
    return posterior_of(Pair.models(p, q), evidence, tree, target, evidence_q)


def posterior_of(
    models: Pair, evidence: Any, tree: Any, target: Target = "states", evidence_q: Any = None
) -> Divergence:
    """The posterior divergence of the models of a pair on the tree of the evidence.

    Models with end probabilities are compared on a chain here, which ends at its last node.
    """
    p, q = models.p, models.q
    check_posterior(p, q, target, evidence_q)
    tables, layout, place = pair_tables(p, q, evidence, tree, target, evidence_q)
    result = posterior(tables, layout)
    refuse_if_impossible(p, q, result)
    fields: dict[str, Any] = {
        "subject": subject(p, q, place), "detail": Detail(by_node=partial(_profile, tables, layout))
    }  # fmt: skip
    if result.infinite is not None:
        return infinite(models, "posterior", [_reason(p, *result.infinite)], **fields)
    likelihoods = f"{result.log_likelihood_p!r} under p, {result.log_likelihood_q!r} under q"
    return Divergence(result.value, "posterior", notes=[f"log-likelihood of the evidence: {likelihoods}"], **fields)


def check_posterior(p: Model, q: Model, target: str, evidence_q: Any) -> None:
    """Refuse what has no posterior divergence."""
    check_same_states(p, q, "posterior")
    if target not in ("states", "unobserved"):
        refuse(HidivError, "target", 'must be "states" or "unobserved"', target)
    if evidence_q is not None and target != "states":
        refuse(HidivError, "evidence_q", 'two evidences leave only the states to compare, target="states"', target)
    if (p.end is None) != (q.end is None):
        refuse(
            IncompatibleModels,
            "end",
            "one model has end probabilities and the other has none",
            remedy="give both or neither an end",
        )


def refuse_if_impossible(p: Model, q: Model, result: Posterior, place: str = "") -> None:
    """Refuse impossible evidence, naming the model and the node, and the sequence if there are many."""
    if result.impossible is not None:
        side, node = result.impossible
        model = p if side == "p" else q
        refuse_impossible(model, node, side if model.name is None else f"{side} ({model.name!r})", place)


def pair_tables(
    p: Model, q: Model, evidence: Any, tree: Any, target: str, evidence_q: Any, lasts: IntArray | None = None
) -> tuple[PairTables, Layout, Tree]:
    """Both models' tables on the evidence with accurate log-ratios, and how the nodes use them.

    `lasts` (chains,): the last node of each chain, where models have end probabilities and there are several chains.
    """
    known, place = evidence_and_tree(evidence, tree)
    for model, who in ((p, "p"), (q, "q")):
        check_groups(model, place, who)
        check_end(model, place)
    more_families = p if len(p.emissions) >= len(q.emissions) else q
    rows = lay_out(known, place, more_families)
    if lasts is None:
        lasts = np.array([place.n_nodes - 1])
    if p.end is not None:
        rows = with_ends(rows, lasts)
    residuals = None
    if evidence_q is None:
        weights_p, weights_q, ratio = _weights(p, q, rows, place)
        if target == "unobserved":
            residuals = _by_rows(p, q, rows, residual)
        if p.end is not None and q.end is not None:
            ratio[rows.n_rows - rows.n_ended :] += log_ratio(p.end, q.end)
    else:
        # With evidence of its own q has rows of its own: both models then have one row a node.
        rows_q = lay_out(evidence_and_tree(evidence_q, place)[0], place, more_families)
        if q.end is not None:
            rows_q = with_ends(rows_q, lasts)
        weights_p, weights_q = log_weights(p, rows, place), log_weights(q, rows_q, place)
        weights_p, weights_q = (
            w if r.row_of is None else w[r.row_of] for w, r in ((weights_p, rows), (weights_q, rows_q))
        )
        rows = replace(rows, row_of=None)
        with np.errstate(invalid="ignore"):
            ratio = np.where(weights_p == weights_q, 0.0, weights_q - weights_p)
    if np.isnan(ratio).any():  # the difference of the weights stands in where the formula of a family is out of range
        with np.errstate(invalid="ignore"):
            difference = weights_q - weights_p
        ratio = np.where(np.isnan(ratio) & np.isfinite(difference), difference, ratio)
    shift_p = shift_q = None
    far = far_rows(weights_p, weights_q)
    if far.size:
        state = np.where(weights_q[far] > -np.inf, weights_p[far], -np.inf).argmax(axis=1)
        near_p, near_q = (
            relative(model, rows, weights, far, state) if evidence_q is None else None
            for model, weights in ((p, weights_p), (q, weights_q))
        )
        weights_p, shift_p = moved(weights_p, far, state, near_p)
        weights_q, shift_q = moved(weights_q, far, state, near_q)
        ratio[far] = _relative_ratio(ratio[far], weights_p[far], weights_q[far], state)
    groups = max(len(p.transitions), len(q.transitions))
    transitions_p, transitions_q = by_group(p.transitions, groups), by_group(q.transitions, groups)
    tables = PairTables(
        Tables(p.initial, transitions_p, weights_p, shift_p), Tables(q.initial, transitions_q, weights_q, shift_q),
        log_ratio(p.initial, q.initial), log_ratio(transitions_p, transitions_q), ratio, residuals,
    )  # fmt: skip
    return tables, layout_of(groups, place, rows), place


def _weights(p: Model, q: Model, rows: EvidenceRows, place: Tree) -> tuple[Array, Array, Array]:
    """(R, K) three times: both models' log-weights and their log-ratios, in one pass where the families have one."""
    if rows.symbols is None and len(p.emissions) == len(q.emissions) == 1 and p.emissions[0].n_features:
        try:
            weights_p, weights_q, ratio = pair_weights(p.emissions[0], q.emissions[0])(rows.x, rows.lower, rows.upper)
            return settled(p, rows, weights_p), settled(q, rows, weights_q), ratio
        except InvalidEvidence:  # whose message is to name the node
            pass
    return log_weights(p, rows, place), log_weights(q, rows, place), _by_rows(p, q, rows, weight_ratio)


def _relative_ratio(ratio: Array, near_p: Array, near_q: Array, state: IntArray) -> Array:
    """(r, K): log-ratios less that of `state`, by whichever difference rounds less."""
    base = np.take_along_axis(ratio, state[:, None], axis=1)
    with np.errstate(invalid="ignore"):
        from_ratios, from_weights = ratio - base, near_q - near_p
        better = np.abs(ratio) + np.abs(base) <= np.abs(near_p) + np.abs(near_q)
    both = np.isfinite(from_weights)  # elsewhere the ratio is infinite, and its sign says which law vanishes
    return np.where(both, np.where(better & np.isfinite(from_ratios), from_ratios, from_weights), ratio)


def _by_rows(p: Model, q: Model, rows: EvidenceRows, compare: Any) -> Array:
    """(R, K): the families of both models compared on every row of evidence, group by group."""
    table = np.zeros((rows.n_rows, p.n_states))
    groups: list[Any] = [slice(None)]
    if rows.group is not None:
        groups = [np.flatnonzero(rows.group == g) for g in range(int(rows.group.max()) + 1)]
    for where, (family_p, family_q) in zip(groups, families(p, q), strict=False):
        lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
        if family_p.n_features or family_q.n_features:
            table[where] = compare(family_p, family_q, rows.x[where], lower, upper, symbol_sets(family_p, rows, where))
    return table


def _profile(tables: PairTables, layout: Layout) -> Array | None:
    """(n,): the share of each node."""
    result = posterior(tables, layout, by_node=True)
    return result.by_node if result.infinite is None else infinite_profile(tables, layout)


def _reason(p: Model, node: int, parent_state: int, state: int) -> str:
    """The sentence for the first place where p's posterior has mass and q's has none."""
    after = "" if parent_state < 0 else f" after {state_in_words(p, parent_state)}"
    return (
        f"node {node}: {state_in_words(p, state)}{after} is possible under p given the evidence and impossible under q"
    )
