"""The divergence of what is hidden given the evidence, exact on any tree (definitions (2.2))."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from hidiv.divergences.infinite import infinite
from hidiv.divergences.joint.local_terms import state_in_words
from hidiv.divergences.pair import Pair, check_both, check_same_states, subject
from hidiv.divergences.posterior.pair_rows import pair_rows, two_evidences, weigher
from hidiv.divergences.result import Detail, Divergence
from hidiv.errors import HidivError, IncompatibleModels, InvalidEvidence, refuse
from hidiv.inference.likelihood import refuse_impossible
from hidiv.inference.long_chains import LONG, long_chain
from hidiv.inference.rows import evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model, by_group
from hidiv.models.tree import Tree
from hidiv.recursions.infinite_profile import infinite_profile
from hidiv.recursions.normal_rows import NormalPair
from hidiv.recursions.posterior_sweep import SHOWN, Posterior, are_apart, is_faint, posterior, posterior_stream
from hidiv.recursions.tables import Layout, PairTables, Tables
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
    known, place = evidence_and_tree(evidence, tree)
    streamed = None
    if evidence_q is None and place.n_nodes >= LONG:
        streamed = _without_tables(p, q, known, place, target == "unobserved")
    if streamed is not None:
        result, profile = streamed, partial(_late_profile, p, q, known, place, target)
    else:
        tables, layout = pair_tables(p, q, known, place, target, evidence_q)
        result, profile = posterior(tables, layout), partial(_profile, tables, layout)
    refuse_if_impossible(p, q, result)
    fields: dict[str, Any] = {"subject": subject(p, q, place), "detail": Detail(by_node=profile)}
    if result.infinite is not None:
        return infinite(models, "posterior", [_reason(p, *result.infinite)], **fields)
    likelihoods = f"{result.log_likelihood_p:.12g} under p and {result.log_likelihood_q:.12g} under q"
    notes = [f"the log-likelihood of the evidence is {likelihoods}"]
    return Divergence(result.value, "posterior", notes=notes, **fields)


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
    p: Model, q: Model, known: Evidence, place: Tree, target: str, evidence_q: Any, lasts: IntArray | None = None
) -> tuple[PairTables, Layout]:
    """Both models' tables on the evidence with accurate log-ratios, and how the nodes use them.

    `lasts` (chains,): the last node of each chain, where models have end probabilities and there are several chains.
    """
    check_both(p, q, place)
    if p.end is not None:
        check_end(p, place)
    more_families = p if len(p.emissions) >= len(q.emissions) else q
    rows = lay_out(known, place, more_families)
    if lasts is None:
        lasts = np.array([place.n_nodes - 1])
    if p.end is not None:
        rows = with_ends(rows, lasts)
    if evidence_q is None:
        parts = pair_rows(p, q, rows, place, target == "unobserved")
    else:
        # With evidence of its own q has rows of its own: both models then have one row a node.
        rows_q = lay_out(evidence_and_tree(evidence_q, place)[0], place, more_families)
        if q.end is not None:
            rows_q = with_ends(rows_q, lasts)
        parts = two_evidences(p, q, rows, rows_q, place)
        rows = replace(rows, row_of=None)
    groups = max(len(p.transitions), len(q.transitions))
    transitions_p, transitions_q = p.transitions, q.transitions
    if groups > 1:
        transitions_p, transitions_q = by_group(transitions_p, groups), by_group(transitions_q, groups)
    tables = PairTables(
        Tables(p.initial, transitions_p, parts.p, parts.shift_p),
        Tables(q.initial, transitions_q, parts.q, parts.shift_q),
        log_ratio(p.initial, q.initial), log_ratio(transitions_p, transitions_q), parts.ratio, parts.residual,
    )  # fmt: skip
    return tables, rows.layout(place, groups)


def _without_tables(p: Model, q: Model, evidence: Evidence, tree: Tree, unobserved: bool) -> Posterior | None:
    """Value and log-likelihoods of a long chain, rows weighed as the recursion comes to them.

    None where tables are the way: short or shared rows, zeros, impossible evidence.
    """
    chain = long_chain(p if len(p.emissions) >= len(q.emissions) else q, evidence, tree)
    if chain is None:
        return None
    check_both(p, q, tree)
    if p.end is not None:
        check_end(p, tree)
    weigh = weigher(p, q)
    normal, counts, chunk = None, None, chain.at_once
    fast = None if weigh is None else weigh.fast
    if isinstance(fast, NormalPair) and chain.rows.plain and not unobserved:
        normal, chunk = (np.ascontiguousarray(chain.rows.x), fast.p, fast.q, fast.between), chain.in_cache
    elif fast is None and weigh is not None and chain.rows.plain and not unobserved:
        try:
            tables = weigh.count_tables(chain.rows.x)
        except InvalidEvidence:  # whose message is to name the node
            return None
        if tables is not None:
            counts, chunk = tables[0], chain.in_cache
    shifts: dict[int, tuple[float, float]] = {}

    def make(first: int, end: int) -> tuple[Array, Array, Array | None]:
        parts = pair_rows(p, q, chain.part(first, end), tree, unobserved, weigh)
        shifts[first] = _total(parts.shift_p), _total(parts.shift_q)
        return parts.p, parts.ratio, parts.residual

    groups = max(len(p.transitions), len(q.transitions))
    first, second = by_group(p.transitions, groups), by_group(q.transitions, groups)
    ratios = log_ratio(p.initial, q.initial), log_ratio(first, second)
    try:
        result = posterior_stream(
            tree.n_nodes, tree.group if groups > 1 else None, (p.initial, first), (q.initial, second), ratios, make,
            chunk, normal, counts,
        )  # fmt: skip
    except HidivError:  # whose message is to name the node
        return None
    if result is None:
        return None
    if is_faint(result[0], tree.n_nodes):
        some = pair_rows(p, q, chain.part(0, min(SHOWN, tree.n_nodes)), tree, unobserved, weigh).ratio
        if are_apart(*ratios, some):
            return None
    value, log_p, log_q = result
    out_p, out_q = (sum(shift[side] for shift in shifts.values()) for side in (0, 1))
    return Posterior(value, log_p + out_p, log_q + out_q)


def _total(shift: Array | None) -> float:
    """The sum of what was taken out of rows."""
    return 0.0 if shift is None else float(shift.sum(dtype=np.longdouble))


def _late_profile(p: Model, q: Model, evidence: Evidence, tree: Tree, target: Target) -> Array | None:
    """(n,): the share of each node of a chain that was compared without tables."""
    return _profile(*pair_tables(p, q, evidence, tree, target, None))


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
