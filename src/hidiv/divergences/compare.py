"""Every divergence of two models, side by side."""

from __future__ import annotations

from math import isinf
from typing import Any

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, number
from hidiv.divergences.alignment.align import align
from hidiv.divergences.comparable import check_length, closed
from hidiv.divergences.comparison import Comparison, Rates
from hidiv.divergences.forest import Forest, as_forest, is_forest, over_forest
from hidiv.divergences.joint.do_bound import do_bound
from hidiv.divergences.joint.kl import joint_kl, joint_kl_rate, too_large
from hidiv.divergences.joint.visits import tree_size
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.rate import observed_kl_rate
from hidiv.divergences.posterior.expected import expected_posterior
from hidiv.divergences.posterior.kl import posterior_kl
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import IncompatibleModels, InvalidTree, OutOfRange, refuse
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Progress, Wanted, reported

LARGE = 100_000  # nodes of a tree beyond which nothing is drawn for an estimate
INTERRUPTED = "it was interrupted"
OPEN = "these families have no divergence in closed form"
DRAWN = 500_000  # nodes drawn in all for an estimate, unless that is fewer than 200 trees


@reported
def compare(
    p: Any,
    q: Any,
    tree: Any = None,
    *,
    evidence: Any = None,
    seed: Seed = 0,
    max_seconds: float | None = 5.0,
    progress: Wanted = None,  # for @reported
) -> Comparison:
    """The divergences of two models side by side, with the chain rule that ties them (definitions (5.1)).

    joint = observed + expected_posterior; the joint one as labelled and with q's states aligned to p's, by its parts;
    the posterior one where there is `evidence`; Do's bound on the observed one; the rates of endless chains. What is
    not defined (joint and posterior for different numbers of states, ...) is None, and `undefined` says why. A list of
    trees or lengths is a forest of independent trees, whose divergences add up. Without a tree, that of the evidence;
    without evidence too, the rates alone. `seed` and `max_seconds` are for the observed divergence where it is an
    estimate or searched for. Infinite quantities are named in `infinite`.

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
    p, q = as_models(p, q)
    on = _tree(p, q, tree, evidence)
    check_length(p, q, until_end=isinstance(on, UntilEnd))
    about = f"{subject(p, q)} {on}" if isinstance(on, Forest) else subject(p, q, on)
    undefined: dict[str, str] = {}
    found: dict[str, Any] = {}
    if on is None:
        undefined["joint"] = "there is no tree and no evidence, so only the rates of endless chains are told"
    # Exact quantities come first and are quick; an interrupt of what searches or draws keeps them.
    elif p.n_states == q.n_states:
        found |= _paired(p, q, on, evidence, undefined)
    else:
        names = ("joint", "joint_aligned", "expected_posterior", "posterior", "do_bound")
        undefined |= {name: _unpaired(p, q) for name in names if name != "posterior" or evidence is not None}
    try:
        with Progress("comparing") as bar:
            if on is not None:
                found |= _beside(found.get("joint"), _observed(p, q, on, seed, max_seconds, undefined), undefined)
            bar.show(0.5, "the observed divergence")
            found["rates"] = _rates(p, q, seed, max_seconds, undefined)
            bar.show(1.0, "the rates")
    except KeyboardInterrupt:
        for name in ("observed", "expected_posterior", "rates"):
            if name not in found and (on is not None or name == "rates"):
                undefined.setdefault(name, INTERRUPTED)
    return Comparison(about, p.name, q.name, undefined=undefined, **found)


def _tree(p: Model, q: Model, tree: Any, evidence: Any) -> Tree | Forest | UntilEnd | None:
    """The tree or trees asked for, or that of the evidence, or until the end for models that have one."""
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
    if p.end is not None and q.end is not None:
        return UNTIL_END
    if max(p.n_groups, q.n_groups) > 1:
        refuse(InvalidTree, "tree", "is needed for models with groups", remedy="give a tree, or evidence on a chain")
    return None


def _beside(joint: Divergence | None, observed: Divergence | None, undefined: dict[str, str]) -> dict[str, Any]:
    """The observed divergence and what it leaves of the joint one."""
    if joint is not None and observed is not None:
        return {
            "observed": observed,
            "expected_posterior": _remainder(joint, observed, undefined, "expected_posterior"),
        }
    undefined.setdefault("expected_posterior", "it is joint - observed, and one of them is not there")
    return {"observed": observed}


def _paired(
    p: Model, q: Model, tree: Tree | Forest | UntilEnd, evidence: Any, undefined: dict[str, str]
) -> dict[str, Any]:
    """What needs states paired by their labels."""
    if not closed(p, q):
        names = ("joint", "joint_aligned", "expected_posterior", "posterior", "do_bound")
        undefined |= {name: OPEN for name in names if name != "posterior" or evidence is not None}
        return {}
    found: dict[str, Any] = {"joint_per_node": joint_kl(p, q, tree, per_node=True)}
    try:
        found["joint"] = joint_kl(p, q, tree)
        if isinstance(tree, Forest):
            undefined["joint_aligned"] = "states are aligned on one tree at a time"
            found["do_bound"] = over_forest(tree, lambda one: do_bound(p, q, one))
            return found
        alignment = align(p, q, tree)
        found |= {"alignment": alignment, "joint_aligned": joint_kl(p, q.relabel(alignment.permutation), tree)}
        if isinstance(tree, Tree):
            found["do_bound"] = do_bound(p, q, tree)
        else:
            undefined["do_bound"] = "Do's formulas need a tree of known size"
    except OutOfRange as error:
        undefined |= {name: str(error) for name in ("joint", "joint_aligned", "do_bound") if name not in found}
    if evidence is not None:
        found["posterior"] = posterior_kl(p, q, evidence, tree if isinstance(tree, Tree) else None)
    return found


def _observed(
    p: Model, q: Model, tree: Tree | Forest | UntilEnd, seed: Seed, seconds: float | None, undefined: dict[str, str]
) -> Divergence | None:
    if isinstance(tree, UntilEnd):
        try:
            return observed_kl(p, q, tree, seed=seed, max_seconds=seconds)
        except OutOfRange as error:
            undefined["observed"] = str(error)
            return None
    size = tree.n_nodes if isinstance(tree, Forest) else tree_size(tree)
    if isinstance(tree, Forest) and seconds is not None:
        seconds /= len(set(tree))
    try:
        if isinf(size):
            too_large()
        if size <= LARGE:
            draws = max(200, min(DRAWN // int(size), 20_000))
            return observed_kl(p, q, tree, seed=seed, max_samples=draws, max_seconds=seconds)
        return observed_kl(p, q, tree, method="certified", max_seconds=seconds)
    except OutOfRange as error:
        undefined["observed"] = str(error)
    except IncompatibleModels as error:
        if size <= LARGE:
            raise
        undefined["observed"] = f"nothing is drawn on more than {LARGE} nodes, and {error}"
    return None


def _rates(p: Model, q: Model, seed: Seed, seconds: float | None, undefined: dict[str, str]) -> Rates:
    if p.end is not None or q.end is not None:
        undefined["rates"] = "models with end probabilities stop by themselves"
        return Rates()
    if max(p.n_groups, q.n_groups) > 1:
        undefined["rates"] = "a rate needs one group, the same at every step"
        return Rates()
    joint = joint_kl_rate(p, q) if p.n_states == q.n_states and closed(p, q) else None
    draws = DRAWN // 1000  # an estimate of a rate draws paths of 1000 nodes
    observed = observed_kl_rate(p, q, seed=seed, max_samples=draws, max_seconds=seconds)
    if joint is None:
        undefined |= dict.fromkeys(("joint rate", "expected posterior rate"), _unpaired(p, q))
        return Rates(observed=observed)
    return Rates(joint, observed, _remainder(joint, observed, undefined, "expected posterior rate"))


def _unpaired(p: Model, q: Model) -> str:
    if p.n_states == q.n_states:
        return OPEN
    return f"the models have {p.n_states} and {q.n_states} states, and states are paired by their labels"


def _remainder(joint: Divergence, observed: Divergence, undefined: dict[str, str], name: str) -> Divergence | None:
    if isinf(observed.value):
        undefined[name] = "joint and observed are both infinite, and their difference says nothing"
        return None
    return expected_posterior(joint, observed)
