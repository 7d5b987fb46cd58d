"""The divergence of what a user sees, on a tree: exact, certified, estimated or approximated, and labelled so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any, Literal, NoReturn

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, generator
from hidiv.divergences.comparable import check_length, check_observations
from hidiv.divergences.forest import Several, is_forest, over_forest, tree_alone
from hidiv.divergences.observed.alphabets import by_formula, finite_chain, tree_law
from hidiv.divergences.observed.budget import check_limits
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.cheap_bounds import ROOM, cheap, joint_above
from hidiv.divergences.observed.certified.rates import SECONDS
from hidiv.divergences.observed.certified.refining import capped
from hidiv.divergences.observed.certified.trees.listed_trees import observed_listed
from hidiv.divergences.observed.certified.trees.regular_trees import observed_regular
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.enumerated.tree_configurations import enumerate_tree
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.log_normals import in_logarithms
from hidiv.divergences.observed.quadrature.two_state_chains import quadrature
from hidiv.divergences.observed.sampled.estimator import Draws, stopped_estimate
from hidiv.divergences.observed.sampled.until_end_chains import observed_until_end
from hidiv.divergences.observed.support.symbols import forbidden_configuration
from hidiv.divergences.observed.variational import variational
from hidiv.divergences.remedy import advised
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.emissions.families.categorical import check_alphabets
from hidiv.errors import HidivError, IncompatibleModels, OutOfRange, refuse
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Wanted, reported

Method = Literal["auto", "exact", "certified", "montecarlo", "variational"]
QUICK = 100_000  # words that "auto" lists without a second thought
TREE_WIDTH = 1e-6  # of the certified interval on a regular tree
AUTO_SECONDS = 3.0  # that "auto" gives to a certificate before it estimates


@reported
@advised
def observed_kl(
    p: Any,
    q: Any,
    tree: Tree | int | UntilEnd | Several,
    *,
    per_tree: bool = False,
    method: Method = "auto",
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
    progress: Wanted = None,  # for @reported
) -> Divergence:
    """D( p(X) || q(X) ), states summed out: no labels, any numbers of states (definitions (5.1) and (5.4)).

    exact: every word listed, finite alphabets and few nodes. certified: an interval that holds, narrower until `rtol`
    (half its width, of its lower end), `atol`, `max_seconds` (20 when not said) or an interrupt; narrow for chains with
    finite alphabets and trees with two states, wide for others. montecarlo: an estimate with its standard error, until
    `rtol`, `atol`, `max_samples` or `max_seconds`. variational: a deterministic approximation. auto: exact where it is
    quick, certified where that soon is as narrow as asked, else montecarlo, with what is certain in `.notes`;
    `.status` says which. With hd.UNTIL_END, for models with `end`: of what is shown and where it ends, an estimate or
    wide bounds. A list of trees or lengths is a forest of independent trees, whose divergences add up; `per_tree`
    divides by their number, and the limits hold for each different tree. +inf where p emits what q cannot.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> hd.observed_kl(p, p.relabel([1, 0]), 5).value < 1e-15 < hd.joint_kl(p, p.relabel([1, 0]), 5).value
    True
    """
    check_limits(rtol, atol, max_samples, max_seconds)
    p, q = as_models(p, q)
    if is_forest(tree):
        limits: dict[str, Any] = {"method": method, "rtol": rtol, "atol": atol, "max_samples": max_samples}
        limits |= {"seed": None if seed is None else generator(seed), "max_seconds": max_seconds}
        return over_forest(tree, lambda one: observed_kl(p, q, one, **limits), per_tree=per_tree)
    if per_tree:
        tree_alone()
    if isinstance(tree, UntilEnd):
        return observed_until_end(*in_logarithms(p, q), method, rtol, atol, seed, max_samples, max_seconds)
    check_length(p, q, until_end=False)
    check_observations(p, q)
    on = as_tree(tree)
    check_groups(p, on, "p")
    check_groups(q, on, "q")
    p, q = in_logarithms(p, q)
    ways: dict[str, Callable[[], Divergence]] = {
        "exact": lambda: _exact(p, q, on),
        "certified": lambda: _certified(p, q, on, rtol, atol, max_seconds),
        "montecarlo": lambda: at_most(
            stopped_estimate(Draws.on_tree(p, q, on), rtol, atol, seed, max_samples, max_seconds),
            lambda: joint_above(p, q, on) if by_formula(p, q) else inf,
        ),
        "variational": lambda: _variational(p, q, on),
    }
    if method == "auto":
        seconds = AUTO_SECONDS if max_seconds is None else min(AUTO_SECONDS, max_seconds / 2)
        ways["certified"] = lambda: sufficient(_soon_certified(p, q, on, rtol, atol, seconds), rtol, atol)
        return _first(p, q, on, ways, rtol)
    if method not in ways:
        refuse(HidivError, "method", 'must be "auto", ' + ", ".join(f'"{name}"' for name in ways), method)
    try:
        return ways[method]()
    except NotApplicable as reason:
        not_applicable(method, reason)


def _first(p: Model, q: Model, tree: Tree, ways: dict[str, Callable[[], Divergence]], rtol: float) -> Divergence:
    """Exact where it is quick, certified where there is a certificate, an estimate else."""
    passed = []
    for name in ("exact", "certified"):
        try:
            if name == "exact" and not _is_quick(p, tree):
                raise NotApplicable("too many words to list")
            found = ways[name]()
        except (NotApplicable, OutOfRange) as reason:
            passed.append(f"not {name}: {reason}")
            continue
        return found.noted(*passed)
    return (quadrature(p, q, tree, rtol) or ways["montecarlo"]()).noted(*passed)


def _is_quick(p: Model, tree: Tree) -> bool:
    from hidiv.divergences.observed.alphabets import symbol_probabilities

    symbols = symbol_probabilities(p).shape[-1]
    return tree.depth < 64 and (symbols == 1 or symbols ** min(tree.n_nodes, 64) <= QUICK)


def _exact(p: Model, q: Model, tree: Tree) -> Divergence:
    if tree.is_chain and p.n_groups == q.n_groups == 1:
        left, right = finite_chain(p), finite_chain(q)
        check_alphabets(left.n_symbols, right.n_symbols)
        found = enumerate_chain(left, right, tree.n_nodes)
    else:
        listed = Tree(tree.parent, tree.group) if tree.kind == "regular" else tree
        laws = tree_law(p, listed), tree_law(q, listed)
        check_alphabets(*(law.probabilities.shape[-1] for law in laws))
        found = enumerate_tree(*laws, listed.parent)
    return Divergence(
        found.value,
        "observed",
        infinite=[] if found.word is None else [_forbidden(found.word)],
        notes=[f"every one of {found.words} words listed"],
        subject=subject(p, q, tree),
    )


def _certified(p: Model, q: Model, tree: Tree, rtol: float, atol: float, seconds: float | None) -> Divergence:
    about, seconds = subject(p, q, tree), SECONDS if seconds is None else seconds
    above = joint_above(p, q, tree)
    if above <= atol and p.n_states == q.n_states:
        how = {"method": "smallest joint divergence over relabellings", "rounding": above * ROOM}
        return from_interval(Interval(0.0, above, how), about)
    try:
        interval = _interval(p, q, tree, lambda found: narrow(found, rtol, atol), seconds, above)
    except NotApplicable as reason:
        interval = cheap(p, q, tree, str(reason))
    found = from_interval(interval, about)
    if interval.lower < inf and not narrow(interval, rtol, atol):
        return found.noted(f"wider than asked for by rtol={rtol:g} and atol={atol:g}")
    return found


def _soon_certified(p: Model, q: Model, tree: Tree, rtol: float, atol: float, seconds: float) -> Divergence:
    if not by_formula(p, q):
        raise NotApplicable("bounds for mixtures take integrals, one for each pair of states")
    return _certified(p, q, tree, rtol, atol, seconds)


def _interval(
    p: Model, q: Model, tree: Tree, enough: Callable[[Interval], bool], seconds: float, above: float
) -> Interval:
    """By the recursions of two-state filters and messages, by contexts or by grids of filters."""
    if tree.is_chain and p.n_groups == q.n_groups == 1:
        left, right = finite_chain(p), finite_chain(q)
        check_alphabets(left.n_symbols, right.n_symbols)
        return observed_chain(left, right, tree.n_nodes, enough, seconds, above)
    if tree.kind == "regular" or tree.is_chain:
        laws = tree_law(p, tree), tree_law(q, tree)
        check_alphabets(*(law.probabilities.shape[-1] for law in laws))
        return capped(observed_regular(*laws, tree.children or 1, tree.depth, TREE_WIDTH, seconds), above)
    laws = tree_law(p, tree), tree_law(q, tree)
    check_alphabets(*(law.probabilities.shape[-1] for law in laws))
    if forbidden_configuration(*laws, tree.parent):
        return Interval(inf, inf, {"method": "support of configurations"})
    return capped(observed_listed(*laws, tree.parent, TREE_WIDTH, seconds), above)


def at_most(found: Divergence, above: Callable[[], float]) -> Divergence:
    """An estimate within the joint divergence, which bounds it; the bounds alone where the draws contradict it."""
    if found.status != "estimate" or found.lower is None or found.upper is None:
        return found
    most = above()
    if not found.upper > most:
        return found
    if not found.lower <= most:
        how = {"method": "smallest joint divergence over relabellings"}
        said = "the draws hold numbers that no double can weigh; only the ends are certain, the middle is no estimate"
        return replace(from_interval(Interval(0.0, most, how), found.subject, found.per), notes=[said])
    notes = [*found.notes, f"cut at {most:.6g}, the smallest joint divergence over relabellings"]
    return replace(found, value=min(found.value, most), upper=most, notes=notes)


def narrow(found: Interval, rtol: float, atol: float) -> bool:
    """Whether an interval is as narrow as asked for."""
    return found.width <= max(2.0 * atol, 2.0 * rtol * found.lower)


def sufficient(found: Divergence, rtol: float, atol: float) -> Divergence:
    """A certified divergence if it is narrow enough; NotApplicable, with what is certain, if not."""
    lower, upper = found.lower, found.upper
    if lower is None or upper is None or (lower < inf and not narrow(Interval(lower, upper), rtol, atol)):
        raise NotApplicable(f"it is between {lower:.6g} and {upper:.6g}, which is certain but wider than asked for")
    return found


def _variational(p: Model, q: Model, tree: Tree) -> Divergence:
    value = variational(p, q, tree)
    infinite = ["p has observations that no state of q explains"] if value == inf else []
    notes = ["variational recursion: deterministic, no bound"]
    if value < 0:
        notes.append("below 0, where no divergence can be: the approximation fails for this pair")
    return Divergence(
        value,
        "observed",
        "approximation",
        infinite=infinite,
        notes=notes,
        subject=subject(p, q, tree),
    )


def from_interval(interval: Interval, about: str, per: str | None = None) -> Divergence:
    """The middle of a certified interval, with what it rests on."""
    if interval.lower == inf:
        word = interval.how.get("word")
        reason = "p emits a configuration that q cannot" if word is None else _forbidden(word)
        return Divergence(
            inf, "observed", "certified", inf, inf, per=per, infinite=[reason], certificate=interval.how, subject=about
        )
    if interval.upper == inf:
        raise NotApplicable(f"nothing bounds it from above; it is at least {interval.lower:.6g}")
    middle = 0.5 * (interval.lower + interval.upper)
    bounds = interval.lower, interval.upper
    return Divergence(middle, "observed", "certified", *bounds, per=per, certificate=interval.how, subject=about)


def _forbidden(word: Any) -> str:
    shown = " ".join(str(int(symbol)) for symbol in list(word)[:20])
    return f"p emits the word {shown}{' ...' if len(list(word)) > 20 else ''} and q cannot"


def not_applicable(method: str, reason: NotApplicable) -> NoReturn:
    """A method asked for by name that has nothing to say of this pair."""
    refuse(
        IncompatibleModels,
        f'method="{method}"',
        f"does not apply here, {reason}",
        remedy='use method="auto" or "montecarlo"',
    )
