"""`divergence_interval`: a divergence between two fits with its error, by the delta method or by bootstrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt
from typing import Any

import numpy as np

from hidiv.arguments import Seed, generator
from hidiv.divergences.result import number, plain
from hidiv.errors import HidivError, ImpossibleEvidence, refuse
from hidiv.fitting.bootstrap import bootstrap_divergence
from hidiv.fitting.bootstrap_measures import Measure, first_tree, measures
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.fitting.information import Covariance, covariance_of, forest_gradients
from hidiv.fitting.near_zero import corrected
from hidiv.fitting.parameter_errors import data_of
from hidiv.fitting.simulation import redrawn
from hidiv.inference.parameter_vector import moved
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.progress import Wanted, reported
from hidiv.types import Array
from hidiv.values import Value

FEWEST, MOST = 400, 4000  # trees drawn for the slopes of an observed divergence
FAR = 100.0  # times what an ordinary direction leaves open: by an edge, not by noise
ROUNDING = 1e-10  # of the largest eigenvalue
NODES = 40_000  # in all of them together, about
NEAR = 3.0  # standard errors from 0, below which the delta method does not hold
STEP = 1e-3  # of differences in coordinates, times the standard error of each
NUMBERS = ("value", "lower", "upper", "std_error", "fitted", "bias")
METHODS = ("auto", "delta", "bootstrap")


@dataclass(frozen=True, eq=False, repr=False)
class DivergenceInterval(Value):
    """A divergence between two fits with its error; returned by `hd.divergence_interval`.

    Attributes
    ----------
    value : float
        The divergence less what noise in the fits adds to it on average, at least 0.
    lower, upper : float
        The interval, which holds `value`.
    std_error : float
        The standard deviation of the divergence over data sets like these.
    fitted : float
        The divergence of the two fitted models as they are.
    bias : float
        What noise adds on average.
    method : str
        "delta", or "bootstrap" near zero.
    level : float
        The probability with which the interval covers the true divergence, for large data.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import hidiv as hd
    >>> p, q = (hd.fit(x, None, 1, "poisson", n_init=1, seed=0) for x in ([0, 1, 0, 2, 1] * 8, [3, 2, 5, 4, 4] * 8))
    >>> hd.divergence_interval(p, q, on=1, divergence="joint").method
    'delta'
    """

    value: float
    lower: float
    upper: float
    std_error: float
    fitted: float
    bias: float
    method: str
    level: float = 0.95
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    def per(self, steps: float) -> DivergenceInterval:
        """The divergence of one of so many steps."""
        return replace(self, **{name: getattr(self, name) / steps for name in NUMBERS})

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts."""
        return {
            "format": "hidiv.divergence_interval", "version": 1,
            **{name: plain(getattr(self, name)) for name in NUMBERS},
            "method": self.method, "level": self.level, "notes": list(self.notes),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> DivergenceInterval:
        """The interval of a description as `to_dict` writes it."""
        read: dict[str, Any] = {name: number(described[name]) for name in NUMBERS}
        read |= {"method": str(described["method"]), "notes": tuple(described["notes"])}
        return cls(level=float(described["level"]), **read)

    def __repr__(self) -> str:
        text = (
            f"divergence {self.value:.4g} nats [{self.lower:.4g}, {self.upper:.4g}] ({self.level:.0%}, {self.method}); "
            f"the fits are {self.fitted:.4g} apart, {self.bias:.2g} of it by noise"
        )
        return text + "".join(f"\n  {note}" for note in self.notes)


@reported
def divergence_interval(
    p: Any,
    q: Any,
    evidence_p: Any = None,
    evidence_q: Any = None,
    tree_p: Any = None,
    tree_q: Any = None,
    *,
    divergence: str | Measure = "observed",
    on: Any = None,
    level: float = 0.95,
    method: str = "auto",
    replicates: int = 100,
    seed: Seed = None,
    progress: Wanted = None,  # for @reported
) -> DivergenceInterval:
    """Estimate a divergence between two fits with its error.

    Parameters
    ----------
    p, q : FitResult, Model or object of a supported library
        The fits. Those that come straight from `hd.fit` know their data.
    evidence_p, evidence_q : Evidence, array-like, DataFrame, list of text, or a list of these, optional
        The data of p and q, as in `hd.fit`; needed for models and for fits read from files.
    tree_p, tree_q : Tree, int or list of these, optional
        Their trees. By default chains.
    divergence : {"observed", "aligned", "joint"} or callable, default "observed"
        The divergence, as in `hd.bootstrap_divergence`.
    on : Tree, int or UNTIL_END, optional
        The tree the divergence is taken on. By default the first tree of p's data.
    level : float, default 0.95
        The probability with which the interval covers the true divergence, for large data.
    method : {"auto", "delta", "bootstrap"}, default "auto"
        "auto" takes the delta method, and the bootstrap where the divergence is less than 3 standard errors above 0.
    replicates : int, default 100
        The number of replicates of a bootstrap.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same numbers again.
    progress : bool or callable, optional
        None shows a line on a terminal after a second, True always, False never; a function is called with (done,
        total).

    Returns
    -------
    DivergenceInterval
        The divergence without what noise adds to it, its interval and standard error, and which method was used.

    Raises
    ------
    HidivError
        Where arguments are out of range, or data are needed and not given.

    See Also
    --------
    bootstrap_divergence : the bootstrap, with a p-value.
    differ : a test of whether groups of sequences differ.

    Notes
    -----
    The divergences are those of definitions (2.1) and (2.3). The delta method carries the covariances of both fits
    (`hd.standard_errors`) through the gradient of the divergence, and adds the variance of its second-order term. Near
    zero the gradient vanishes and the bootstrap draws data anew and fits again. Either way the interval is that of a
    scaled noncentral chi-square law with the same mean and variance, which is normal far from zero.

    Parameters of which the data say next to nothing (those of an empty state) are held, and a direction that the fit
    leaves open a hundred times more than data of this size should is given the error of an ordinary one. Notes say so,
    and intervals cover less often there.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([2.5, 12.0]))
    >>> data = [list(hd.sample(model, 20, size=20, seed=1)[1]) for model in (p, q)]
    >>> fits = [hd.fit(x, None, 2, "poisson", n_init=1, seed=0) for x in data]
    >>> found = hd.divergence_interval(*fits, seed=1)
    >>> found.method, found.lower < found.value < found.upper
    ('delta', True)
    """
    if method not in METHODS:
        refuse(HidivError, "method", f"must be one of {', '.join(METHODS)}", method)
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        refuse(HidivError, "level", "must lie between 0 and 1", level)
    first = data_of(p, evidence_p, tree_p, "evidence_p")
    second = data_of(q, evidence_q, tree_q, "evidence_q")
    rng = generator(seed)
    if method != "bootstrap":
        interval = delta_method(first, second, divergence, on, level, rng)
        if method == "delta" or not interval.value < NEAR * interval.std_error:
            return interval
    refits = bootstrap_divergence(
        first[0], second[0], first[1], second[1], divergence=divergence, on=on, replicates=replicates, null=False,
        seed=rng, fixed=first[2],
    )  # fmt: skip
    bias = max(0.0, refits.bias)
    near = corrected(refits.value, bias, refits.std_error**2, level)
    note = f"less than {NEAR:g} standard errors above 0: bootstrap of {len(refits.replicates)} replicates"
    return DivergenceInterval(
        *near, refits.std_error, refits.value, bias, "bootstrap", level, (note,) if method == "auto" else (),
    )  # fmt: skip


def delta_method(
    first: tuple[Model, EvidenceForest, frozenset[str]],
    second: tuple[Model, EvidenceForest, frozenset[str]],
    divergence: str | Measure,
    on: Any,
    level: float,
    rng: np.random.Generator,
) -> DivergenceInterval:
    """The delta method with the second-order term."""
    (p, known_p, fixed_p), (q, known_q, fixed_q) = first, second
    cov_p, cov_q = covariance_of(p, known_p, fixed_p), covariance_of(q, known_q, fixed_q)
    notes = tuple(dict.fromkeys([*cov_p.notes, *cov_q.notes]))
    if divergence == "observed":
        tree = on
        if tree is None:
            tree = UNTIL_END if p.end is not None else first_tree(known_p)
        slopes = observed_slopes(p, q, tree if isinstance(tree, UntilEnd) else as_tree(tree), cov_p, cov_q, rng)
    else:
        measure, _ = measures(divergence, on, known_p, p)
        slopes = _slopes_by_differences(p, q, measure, cov_p, cov_q)
    return interval_of(slopes, cov_p, cov_q, level, notes)


@dataclass(frozen=True, eq=False)
class Slopes:
    """A divergence, its gradients (P,) in the coordinates of both models, and its curvatures (P, P)."""

    value: float
    error: float  # of the draws the value is estimated from
    by_p: Array
    by_q: Array
    bend_p: Array
    bend_q: Array
    nodes: float = inf  # of one draw, where the curvatures are the information of draws


def interval_of(
    slopes: Slopes, cov_p: Covariance, cov_q: Covariance, level: float, notes: tuple[str, ...] = ()
) -> DivergenceInterval:
    """The divergence with the errors that those of both fits make."""
    if isinf(slopes.value):
        return DivergenceInterval(
            inf, 0.0, inf, inf, inf, 0.0, "delta", level, (*notes, "an infinite value has no interval")
        )
    (v_p, edges_p), (v_q, edges_q) = (
        _bounded(bend, cov.matrix, slopes.nodes / cov.nodes)
        for bend, cov in ((slopes.bend_p, cov_p), (slopes.bend_q, cov_q))
    )
    if edges_p or edges_q:
        notes = (*notes, "parameters at the edge of their range are given the error of ordinary ones")
    first_order = float(slopes.by_p @ v_p @ slopes.by_p + slopes.by_q @ v_q @ slopes.by_q)
    each = [slopes.bend_p @ v_p, slopes.bend_q @ v_q]
    together = [each[0] + each[1]] if v_p.shape == v_q.shape else each  # errors along the same directions add up
    traces = [sum(float(np.trace(part)) for part in together), sum(float(np.trace(part @ part)) for part in together)]
    bias = max(0.0, 0.5 * traces[0])
    variance = first_order + 0.5 * max(0.0, traces[1]) + slopes.error**2
    return DivergenceInterval(
        *corrected(slopes.value, bias, variance, level), sqrt(variance), slopes.value, bias, "delta", level, notes
    )


def _bounded(bend: Array, covariance: Array, ordinary: float) -> tuple[Array, int]:
    """The covariance with that of directions at the edge of the parameters bounded, and how many there are.

    Along an ordinary direction what the fit leaves open is as much of what a draw tells as a draw is of the data. Next
    to an edge (a law of a state that holds next to no node) it can be many times more, and a tangent there means
    nothing: the direction is given what an ordinary one has.
    """
    free = np.flatnonzero(np.diag(covariance) > 0)
    among = np.ix_(free, free)
    size = np.sqrt(np.abs(np.diag(bend)[free]))  # a curvature taken by differences can be below 0
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(bend[among] / np.outer(size, size))
    kept = values > ROUNDING * values.max(initial=0.0)
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    inner = vectors.T @ (covariance[among] * np.outer(size, size)) @ vectors
    open_, turned = np.linalg.eigh(inner * np.outer(root, root))
    far = open_ > FAR * ordinary
    if not far.any():
        return covariance, 0
    back = (vectors / root) @ turned / size[:, None]
    bounded = np.zeros(covariance.shape)
    bounded[among] = (back * np.where(far, ordinary, open_)) @ back.T
    return bounded, int(far.sum())


def observed_slopes(
    p: Model, q: Model, tree: Tree | UntilEnd, cov_p: Covariance, cov_q: Covariance, rng: np.random.Generator
) -> Slopes:
    """Of the observed divergence, from the scores of draws of p.

    With r = log p/q and the scores s, s' of p and q: D = E r, its gradients are E[r s] and -E s'. The scores of p have
    mean 0, so all means are taken as intercepts of a regression on them: what is left is of the second order.
    """
    nodes = 50 if isinstance(tree, UntilEnd) else tree.n_nodes
    count = int(np.clip(NODES // nodes, max(FEWEST, 10 * len(cov_p.matrix)), MOST))
    drawn = redrawn(p, repeated(tree, count, p.n_features), rng)
    here = forest_gradients(p, drawn)
    try:
        there = forest_gradients(q, drawn)
    except ImpossibleEvidence:
        return _infinite(cov_p, cov_q)
    s_p, s_q = here.vectors(cov_p.blocks), there.vectors(cov_q.blocks)
    ratio = here.log_likelihoods - there.log_likelihoods
    design = np.column_stack([np.ones(len(ratio)), _independent(s_p)])
    fitted, *_ = np.linalg.lstsq(design, np.column_stack([ratio, s_q]), rcond=None)
    left = ratio - design @ fitted[:, 0]
    error = float(left.std(ddof=min(design.shape[1], len(left) - 1))) / sqrt(len(ratio))
    bend_p = s_p.T @ s_p / len(s_p)
    centred = s_q - fitted[0, 1:]
    return Slopes(
        max(0.0, float(fitted[0, 0])), error, s_p.T @ (ratio - ratio.mean()) / len(ratio), -fitted[0, 1:],
        bend_p, centred.T @ centred / len(s_q), drawn.n_nodes / count,
    )  # fmt: skip


def _infinite(cov_p: Covariance, cov_q: Covariance) -> Slopes:
    """Of an infinite divergence, which has none."""
    by_p, by_q = (np.zeros(len(each.matrix)) for each in (cov_p, cov_q))
    return Slopes(inf, 0.0, by_p, by_q, np.zeros(cov_p.matrix.shape), np.zeros(cov_q.matrix.shape))


def _independent(scores: Array) -> Array:
    """(n, r): as many combinations of the columns as are linearly independent."""
    size = np.sqrt(np.mean(scores * scores, axis=0))
    unit = scores[:, size > 0] / size[size > 0]
    u, values, _ = np.linalg.svd(unit, full_matrices=False)
    kept = values > 1e-8 * values.max(initial=0.0)
    return np.asarray(u[:, kept] * sqrt(len(scores)))


def repeated(tree: Tree | UntilEnd, count: int, columns: int) -> EvidenceForest:
    """A forest of one tree many times, with all nodes seen."""
    n = 1 if isinstance(tree, UntilEnd) else tree.n_nodes
    start = n * np.arange(count + 1)
    parent = group = None
    if isinstance(tree, Tree) and not tree.is_chain:
        parent = np.where(tree.parent < 0, -1, tree.parent + start[:-1, None]).ravel()
    if isinstance(tree, Tree) and tree.group is not None:
        group = np.tile(tree.group, count)
    return EvidenceForest(start, parent, group, Evidence(np.zeros((n * count, max(columns, 1)))))


def _slopes_by_differences(p: Model, q: Model, measure: Measure, cov_p: Covariance, cov_q: Covariance) -> Slopes:
    """Of any divergence, by differences of the length of a part of the standard errors."""
    value = float(measure(p, q))
    if isinf(value):
        return _infinite(cov_p, cov_q)
    sides = []
    for covariance, model in ((cov_p, p), (cov_q, q)):

        def at(moved_model: Model, first: bool = covariance is cov_p) -> float:
            return float(measure(moved_model, q) if first else measure(p, moved_model))

        size = np.sqrt(np.maximum(np.diagonal(covariance.matrix), 0.0))
        slope, bend = np.zeros(len(size)), np.zeros((len(size), len(size)))
        for i in np.flatnonzero(size > 0):
            step = np.zeros(len(size))
            step[i] = STEP * size[i]
            ends = [at(moved(model, covariance.blocks, side * step)) for side in (1.0, -1.0)]
            slope[i] = (ends[0] - ends[1]) / (2.0 * step[i])
        # Curvatures along the principal directions of the errors, which are all that bias and variance need.
        values, vectors = np.linalg.eigh(covariance.matrix / np.outer(size, size).clip(1e-300))
        for each, direction in zip(values, vectors.T, strict=True):
            if each > 1e-9 * values[-1]:
                step = 0.1 * sqrt(each) * direction * size
                ends = [at(moved(model, covariance.blocks, side * step)) for side in (1.0, -1.0)]
                dual = direction / np.where(size > 0, size, 1.0)
                bend += (ends[0] - 2.0 * value + ends[1]) / (0.01 * each) * np.outer(dual, dual)
        sides.append((slope, bend))
    return Slopes(value, 0.0, sides[0][0], sides[1][0], sides[0][1], sides[1][1])
