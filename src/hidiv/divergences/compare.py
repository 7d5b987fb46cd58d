"""Every divergence of two models, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import isfinite, isinf
from typing import Any

from hidiv.arguments import Seed, number
from hidiv.divergences.alignment.align import Alignment, alignment
from hidiv.divergences.comparison import Comparison, Rates
from hidiv.divergences.forest import Forest, as_forest, over_forest
from hidiv.divergences.infinite import finite_first
from hidiv.divergences.joint.do_bound import bound
from hidiv.divergences.joint.kl import joint, joint_per_node, too_large
from hidiv.divergences.measures.overlap import overlaps
from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.kl import kl_of_pair, observed_kl
from hidiv.divergences.observed.rate import rate_of_pair
from hidiv.divergences.observed.support.finiteness import surely_finite
from hidiv.divergences.pair import Initial, Pair, closed, is_forest
from hidiv.divergences.posterior.expected import expected_posterior
from hidiv.divergences.posterior.kl import posterior_of
from hidiv.divergences.quantities import called, in_names
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError, IncompatibleModels, InvalidTree, OutOfRange, refuse
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Progress, Wanted, reported

FEW_STATES = 1000  # of both models, multiplied: more pairs of states take long
HUGE = 10**15  # nodes that leave no doubt which model made them
LARGE = 100_000  # nodes of a tree beyond which nothing is drawn for an estimate
DRAWN = 500_000  # nodes drawn in all for an estimate, unless that is fewer than 200 trees
ALIGNED = 100  # unlike trees of a forest on which states are aligned
SHARE, ALMOST_ZERO = 0.05, 1e-8  # of an initial law that is worth a note: its share and a probability in it
INTERRUPTED = "it was interrupted"
OPEN = "these families have no divergence in closed form"
BY_STATES = ("joint", "joint_aligned", "expected_posterior", "posterior", "do_bound")  # need states paired by labels


@reported
def compare(
    p: Any,
    q: Any,
    tree: Any = None,
    *,
    evidence: Any = None,
    initial: Initial = True,
    seed: Seed = 0,
    max_seconds: float | None = 5.0,
    progress: Wanted = None,  # for @reported
) -> Comparison:
    """Divergences of two models side by side, with the chain rule that ties them together.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models.
    tree : Tree, int, UNTIL_END or list, optional
        The tree, or the length of a chain; a list of trees or lengths is a forest of independent trees, whose
        divergences add up. When left out, the tree of the evidence; without evidence, UNTIL_END for models with end
        probabilities, and the rates alone for others.
    evidence : Evidence or array, optional
        What is known, for the posterior divergence.
    initial : bool or "stationary", default True
        Which laws of the first state are compared: those of the models; both stationary; with False q starts as p
        does, which leaves the initial laws out.
    seed : int or Generator, default 0
        The seed of draws, where the observed divergence is an estimate.
    max_seconds : float or None, default 5.0
        How long to search for, or estimate, the observed divergence and then its rate; None for no limit.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Comparison
        The joint divergence as labelled and with q's states aligned to p's; the observed and the expected posterior
        one; the posterior one given the evidence; Do's bound; the rates along an endless chain. What is not defined
        (joint and posterior for different numbers of states, ...) is None, and `.undefined` says why. `.infinite` names
        what is infinite. `.notes` say what to know first: why the joint divergence is infinite where the observed one
        is not, and how much of it an initial law adds that a fit left at almost 0.

    Raises
    ------
    IncompatibleModels
        Where the models have different observations, or do not belong on the tree.
    InvalidTree
        Where a tree is needed and there is none, or evidence comes with several trees.
    ImpossibleEvidence
        Where either model cannot produce the evidence.

    Notes
    -----
    joint = observed + expected_posterior, definitions (5.1).

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> found = hd.compare(p, q, 10)
    >>> found.joint
    joint divergence D(p || q) on a chain of 10 nodes = 5.6628668946 nats, exact
    >>> round(found.observed.value, 10), round(found.expected_posterior.value, 10)
    (4.7246780707, 0.9381888239)
    >>> found.alignment.permutation
    (0, 1)
    """
    if max_seconds is not None:
        number("max_seconds", max_seconds, endless=True)
    models = Pair.models(p, q, initial=initial)
    place = _tree(models, tree, evidence)
    if isinstance(place, Forest):
        return compare_pair(models.checked_on(place[0]), forest=place, seed=seed, max_seconds=max_seconds)
    return compare_pair(models.checked_on(place), evidence=evidence, seed=seed, max_seconds=max_seconds)


def compare_pair(
    pair: Pair,
    *,
    forest: Forest | None = None,
    evidence: Any = None,
    seed: Seed = 0,
    max_seconds: float | None = 5.0,
) -> Comparison:
    """The comparison of a pair on its tree, or on all trees of a forest it is on one of."""
    undefined: dict[str, str] = {}
    results: dict[str, Any] = {}
    if pair.tree is None:
        undefined["joint"] = "there is no tree and no evidence, so that only the rates of endless chains are defined"
    # Exact quantities come first and are quick; an interrupt of what searches or draws keeps them.
    elif reason := _unpaired(pair):
        undefined |= {name: reason for name in BY_STATES if name != "posterior" or evidence is not None}
    elif forest is not None:
        results |= _by_states_on_forest(pair, forest, undefined)
    else:
        results |= _by_states(pair, evidence, undefined)
    if forest is None:
        results |= _overlap(pair, seed)
    try:
        with Progress("comparing") as progress:
            if pair.tree is not None:
                observed = _observed(pair, forest, seed, max_seconds, undefined)
                results |= {"observed": observed}
                results |= _expected_posterior(pair, results.get("joint"), observed, undefined)
            progress.show(0.5, "the observed divergence")
            results["rates"] = _rates(pair, seed, max_seconds, undefined)
            progress.show(1.0, "the rates")
    except KeyboardInterrupt:
        for name in ("observed", "expected_posterior", "rates"):
            if name not in results and (pair.tree is not None or name == "rates"):
                undefined.setdefault(name, INTERRUPTED)
    about = pair.subject if forest is None else f"{pair.subject.partition(' on ')[0]} {forest}"
    notes = _notes(pair if forest is None else pair.on(max(forest, key=lambda tree: tree.depth)), results)
    return Comparison(about, pair.p.name, pair.q.name, undefined=undefined, **results, notes=notes)


def _notes(pair: Pair, results: dict[str, Any]) -> tuple[str, ...]:
    """What to know before the numbers, in sentences with the names of the models."""
    joint, rates = results.get("joint"), results.get("rates", Rates())
    joint, observed = (rates.joint, rates.observed) if pair.tree is None else (joint, results.get("observed"))
    if joint is None or observed is None or isinf(observed.value):
        return ()
    order = results.get("alignment")
    aligned = pair if order is None else pair.relabelled(order.permutation)
    notes = [finite_first(pair, None if order is None else aligned)] if isinf(joint.value) else []
    finite = joint if isfinite(joint.value) else results.get("joint_aligned")
    if finite is not None and finite.parts is not None and isfinite(finite.value) and finite.value:
        share, start = finite.parts.initial / finite.value, (pair if finite is joint else aligned).q.initial
        if share > SHARE and (start[pair.p.initial > 0] < ALMOST_ZERO).any():
            which = "joint divergence" if finite is joint else "aligned joint divergence"
            notes.append(
                f"{100 * share:.0f} % of the {which} is the initial law of q, which has probabilities down to "
                f'{start[pair.p.initial > 0].min():.1g}; initial="stationary" or initial=False leaves it out'
            )
    return tuple(in_names(note, called(pair.p.name, pair.q.name)) for note in notes)


def _tree(models: Pair, tree: Any, evidence: Any) -> Tree | Forest | UntilEnd | None:
    """The tree or trees asked for, or that of the evidence, or UNTIL_END for models with end probabilities."""
    if isinstance(tree, UntilEnd):
        return tree
    if is_forest(tree):
        if evidence is not None:
            refuse(InvalidTree, "tree", "evidence belongs to one tree", "a list of trees", "compare tree by tree")
        return as_forest(tree)
    if evidence is not None:
        return evidence_and_tree(evidence, tree)[1]
    if tree is not None:
        return as_tree(tree)
    if models.p.end is not None and models.q.end is not None:
        return UNTIL_END
    if max(models.p.n_groups, models.q.n_groups) > 1:
        refuse(InvalidTree, "tree", "is needed for models with groups", remedy="give a tree, or evidence on a chain")
    return None


def _unpaired(pair: Pair) -> str | None:
    """Why quantities that pair states by their labels are not defined; None where they are."""
    if not pair.same_states:
        counts = f"{pair.p.n_states} and {pair.q.n_states}"
        return f"the models have {counts} states, and states are paired by their labels"
    return None if closed(pair.p, pair.q) else OPEN


def _by_states(pair: Pair, evidence: Any, undefined: dict[str, str]) -> dict[str, Any]:
    """The quantities that pair states by their labels."""
    results: dict[str, Any] = {"joint_per_node": pair.once(joint_per_node)}
    try:
        results["joint"] = pair.once(joint)
        results["alignment"] = pair.once(alignment)
        results["joint_aligned"] = pair.relabelled(results["alignment"].permutation).once(joint)
        if isinstance(pair.tree, Tree):
            results["do_bound"] = pair.once(bound)
        else:
            undefined["do_bound"] = "Do's formulas need a tree of known size"
    except OutOfRange as error:
        undefined |= {name: str(error) for name in ("joint", "joint_aligned", "do_bound") if name not in results}
    if evidence is not None:
        results["posterior"] = posterior_of(pair, evidence, pair.tree if isinstance(pair.tree, Tree) else None)
    return results


def _by_states_on_forest(pair: Pair, forest: Forest, undefined: dict[str, str]) -> dict[str, Any]:
    """The same summed over independent trees."""

    def summed(work: Callable[[Pair], Divergence], per_node: bool = False) -> Divergence:
        return over_forest(forest, lambda tree: pair.on(tree).once(work), per_node=per_node)

    results: dict[str, Any] = {"joint_per_node": summed(joint, per_node=True)}
    try:
        results["joint"] = summed(joint)
        results["do_bound"] = summed(bound)
        aligned = _aligned_on_forest(pair, forest)
        if aligned is None:
            undefined["joint_aligned"] = "no single order of states was found to be the best on every tree"
        else:
            order = aligned.permutation
            results["alignment"] = aligned
            results["joint_aligned"] = over_forest(forest, lambda tree: pair.on(tree).relabelled(order).once(joint))
    except OutOfRange as error:
        undefined |= {name: str(error) for name in ("joint", "joint_aligned", "do_bound") if name not in results}
    return results


def _aligned_on_forest(pair: Pair, forest: Forest) -> Alignment | None:
    """The order of q's states that is the best on every tree, and so for their sum; None where there is none.

    An order that is one of several equally good ones on some tree may be missed.
    """
    counts = Counter(forest)
    if len(counts) > ALIGNED:
        return None
    alignments = {tree: pair.on(tree).once(alignment) for tree in counts}
    if len({one.permutation for one in alignments.values()}) > 1:
        return None
    each = list(alignments.values())
    ties = {one.ties for one in each}
    return Alignment(
        each[0].permutation,
        sum(counts[tree] * one.value for tree, one in alignments.items()),
        sum(counts[tree] * one.gain for tree, one in alignments.items()),
        all(one.optimal for one in each),
        ties.pop() if len(ties) == 1 else None,
        max(one.infinite for one in each),
        max(one.labelled_infinite for one in each),
        sum(counts[tree] * one.finite for tree, one in alignments.items()),
    )


def _overlap(pair: Pair, seed: Seed) -> dict[str, Any]:
    """How well the observations tell the models apart: proven bounds, or estimates where these say almost nothing."""
    tree, states = pair.tree, pair.p.n_states * pair.q.n_states
    if not isinstance(tree, Tree) or states > FEW_STATES or not by_formula(pair.p, pair.q):
        return {}
    if tree.n_nodes > (LARGE if tree.kind == "listed" else HUGE):
        return {}
    try:
        return overlaps(pair, 0 if tree.n_nodes > LARGE else max(200, min(2000, DRAWN // tree.n_nodes)), seed)
    except HidivError:
        return {}


def _expected_posterior(
    pair: Pair, joint: Divergence | None, observed: Divergence | None, undefined: dict[str, str]
) -> dict[str, Any]:
    """What the observed divergence leaves of the joint one."""
    if joint is None or observed is None:
        undefined.setdefault("expected_posterior", "it is joint - observed, and one of them is not defined")
        return {}
    return {"expected_posterior": _remainder(pair, joint, observed, undefined, "expected_posterior")}


def _observed(
    pair: Pair, forest: Forest | None, seed: Seed, seconds: float | None, undefined: dict[str, str]
) -> Divergence | None:
    """The observed divergence: certified where that is quick, estimated on trees that are not too large."""
    tree: Any = pair.tree if forest is None else forest
    options: dict[str, Any] = {"max_seconds": seconds}
    size = 0.0 if isinstance(tree, UntilEnd) else forest.n_nodes if forest is not None else tree.size
    if forest is not None and seconds is not None:
        options["max_seconds"] = seconds / len(set(forest))
    if size > LARGE:
        options["method"] = "certified"
    else:
        options |= {"seed": seed, "max_samples": max(200, min(DRAWN // int(size), 20_000)) if size else None}
    try:
        if isinf(size):
            too_large()
        return kl_of_pair(pair, **options) if forest is None else observed_kl(pair.p, pair.q, forest, **options)
    except OutOfRange as error:
        undefined["observed"] = str(error)
    except IncompatibleModels as error:
        if size <= LARGE:
            raise
        undefined["observed"] = f"nothing is drawn on more than {LARGE} nodes, and {error}"
    return None


def _rates(pair: Pair, seed: Seed, seconds: float | None, undefined: dict[str, str]) -> Rates:
    """The rates along an endless chain, for models that have them."""
    if pair.p.end is not None or pair.q.end is not None:
        undefined["rates"] = "models with end probabilities stop by themselves"
        return Rates()
    if max(pair.p.n_groups, pair.q.n_groups) > 1:
        undefined["rates"] = "a rate needs one group, the same at every step"
        return Rates()
    endless = pair.on(None)
    reason = _unpaired(pair)
    joint_rate = endless.once(joint) if reason is None else None
    observed = rate_of_pair(endless, seed=seed, max_samples=DRAWN, max_seconds=seconds)
    if joint_rate is None or reason is not None:
        undefined |= dict.fromkeys(("joint rate", "expected posterior rate"), reason or OPEN)
        return Rates(observed=observed)
    return Rates(joint_rate, observed, _remainder(endless, joint_rate, observed, undefined, "expected posterior rate"))


def _remainder(
    pair: Pair, joint: Divergence, observed: Divergence, undefined: dict[str, str], name: str
) -> Divergence | None:
    """joint - observed; None, with the reason in `undefined`, where both are infinite."""
    if isinf(observed.value):
        undefined[name] = "joint and observed are both infinite, and their difference says nothing"
        return None
    return expected_posterior(joint, observed, isinf(joint.value) and surely_finite(pair, observed))
