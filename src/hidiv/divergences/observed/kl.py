"""The observed divergence on a tree: exact, certified, estimated or approximated, and labelled so."""

from __future__ import annotations

from typing import Any, Literal, NoReturn

from hidiv.arguments import Seed, generator
from hidiv.divergences.forest import over_forest, tree_alone
from hidiv.divergences.infinite import advised
from hidiv.divergences.observed.budget import Budget
from hidiv.divergences.observed.choose import automatic, by_name, in_logarithms, rows
from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.pair import Initial, Pair, Several, check_observations, is_forest
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.progress import Wanted, reported

Method = Literal["auto", "exact", "certified", "montecarlo", "variational"]
METHODS = ("exact", "certified", "montecarlo", "variational")


@reported
def observed_kl(
    p: Any,
    q: Any,
    tree: Tree | int | UntilEnd | Several,
    *,
    per_tree: bool = False,
    initial: Initial = True,
    method: Method = "auto",
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
    progress: Wanted = None,  # for @reported
) -> Divergence:
    """Divergence of what two models show, their hidden states summed out.

    No labels are compared, so that p and q may have different numbers of states.

    Parameters
    ----------
    p, q : Model
        Models of the same observations, or fitted models of a supported library.
    tree : Tree, int, hd.UNTIL_END or a list of trees and lengths
        Where they are compared: a tree, a chain of so many nodes, chains that end by themselves (models with `end`), or
        a forest of independent trees, whose divergences add up.
    per_tree : bool, default False
        Divide the divergence of a forest by the number of its trees.
    initial : bool or "stationary", default True
        Which laws of the first state are compared: those of the models; both stationary; with False q starts as p
        does, which leaves the initial laws out.
    method : {"auto", "exact", "certified", "montecarlo", "variational"}, default "auto"
        exact: every word is listed, for finite alphabets and few nodes. certified: an interval that holds, narrow for
        chains with finite alphabets, chains of normal numbers or counts with two states, and trees of symbols with two
        states, wide for others. montecarlo: an estimate with its
        standard error. variational: a deterministic approximation that is no bound. auto: exact where that is quick,
        certified where that soon is as narrow as asked, by quadrature for two-state chains and small trees of one
        number a node, and montecarlo else; `.notes` say what was passed over.
    rtol : float, default 1e-3
        A certified interval is narrowed until half its width is below rtol times its lower end; an estimate is drawn
        until its standard error is below rtol times its value.
    atol : float, default 1e-9
        The same as an absolute number; the larger of both counts.
    seed : int, numpy.random.Generator or None, default None
        Of the draws. The same seed gives the same result on any machine, unless `max_seconds` ended it.
    max_samples : int or None, default None
        Draws at most; 100,000 when None.
    max_seconds : float or None, default None
        Seconds at most, for each different tree of a forest. When None, draws are not limited by the clock, and a
        search for bounds is by 20 seconds. A result that the clock ended says so in `.notes`.
    progress : bool, callable or None, default None
        A line on the terminal (None: only where there is one), or a function of what is done and how much there is.

    Returns
    -------
    Divergence
        The quantity is "observed"; `.status` says which method answered: "exact", "certified" with `.lower`, `.upper`
        and `.certificate`, "estimate" with `.std_error`, or "approximation". +inf, with the reason in `.infinite`,
        where p emits what q cannot.

    Raises
    ------
    IncompatibleModels
        Where the observations are not of one kind, or the method does not apply.
    OutOfRange
        Where there are too many words to list, or numbers that no double holds.

    Notes
    -----
    Definitions (5.1) and (5.4); bounds (5.5), the variational recursion (5.7), control variates (5.8). The table in
    `hidiv.divergences.observed` says which file answers for which pair.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> hd.observed_kl(p, p.relabel([1, 0]), 5).value < 1e-15 < hd.joint_kl(p, p.relabel([1, 0]), 5).value
    True
    """
    budget = Budget(rtol, atol, None, seed, max_samples, max_seconds)
    if is_forest(tree):
        models = Pair.models(p, q, initial=initial)
        one_stream = None if seed is None else generator(seed)
        shared = Budget(rtol, atol, None, one_stream, max_samples, max_seconds)
        total = over_forest(tree, lambda one: _on_pair(models.on(one), method, shared), per_tree=per_tree)
        return advised(models, total) if total.infinite else total
    if per_tree:
        tree_alone()
    return _advised(Pair.on_tree(p, q, tree, initial=initial), method, budget)


def kl_of_pair(
    pair: Pair,
    *,
    method: Method = "auto",
    rtol: float = 1e-3,
    atol: float = 1e-9,
    seed: Seed = None,
    max_samples: int | None = None,
    max_seconds: float | None = None,
) -> Divergence:
    """`observed_kl` of a pair that is checked already, on its tree or until the end."""
    return _advised(pair, method, Budget(rtol, atol, None, seed, max_samples, max_seconds))


def _advised(pair: Pair, method: str, budget: Budget) -> Divergence:
    """What the method gives, with the note of every infinite divergence."""
    result = _on_pair(pair, method, budget)
    return advised(pair, result) if result.infinite else result


def _on_pair(pair: Pair, method: str, budget: Budget) -> Divergence:
    """What the method gives, refused where it does not apply."""
    if method != "auto" and method not in METHODS:
        refuse(HidivError, "method", 'must be "auto", ' + ", ".join(f'"{name}"' for name in METHODS), method)
    check_observations(pair.p, pair.q)
    pair = pair.once(in_logarithms)
    if method == "auto":
        return automatic(pair, budget)
    if not rows(pair, method):
        remedy = 'use method="montecarlo" or "certified"'
        refuse(IncompatibleModels, f'method="{method}"', "needs a tree of known size", "UNTIL_END", remedy)
    try:
        return by_name(pair, method, budget)
    except NotApplicable as reason:
        not_applicable(method, reason)


def not_applicable(method: str, reason: NotApplicable) -> NoReturn:
    """Refuse a method that was asked for by name and cannot answer for this pair."""
    refuse(
        IncompatibleModels,
        f'method="{method}"',
        f"does not apply here, {reason}",
        remedy='use method="auto" or "montecarlo"',
    )
