"""`standard_errors`: the errors and intervals of a fit's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from hidiv.adapters.as_model import as_model
from hidiv.errors import HidivError, refuse
from hidiv.fitting.evidence_forest import EvidenceForest, forest_of
from hidiv.fitting.information import EDGE, Covariance, covariance_of
from hidiv.inference.parameter_vector import ParameterBlock
from hidiv.models.checks import frozen
from hidiv.models.model import Model
from hidiv.types import Array
from hidiv.values import Value

LOGARITHMIC = ("positive", "length", "rate", "area")
METHODS = ("auto", "outer products", "differences")


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors(Value):
    """Standard errors and intervals of a fit's parameters, in their shapes; returned by `hd.standard_errors`.

    Attributes
    ----------
    initial, transition, end, emission : ndarray, dict or tuple of dict
        The standard errors, in the shapes of the model's parameters (None for a model without ends); 0 for what was not
        fitted or is at its boundary.
    lower, upper : dict
        The ends of the intervals, by part ("initial", "transition", "end", "emission").
    estimates : dict
        The parameters themselves, by part.
    level : float
        The probability with which an interval covers the true parameter, for large data.
    method : str
        "outer products" of the scores of many sequences, or "differences" of the score of all of the data.
    notes : tuple of str
        What to know about the numbers.

    Examples
    --------
    >>> import hidiv as hd
    >>> fit = hd.fit([0, 1, 0, 2, 1, 3, 1, 0], None, 1, "poisson", n_init=1, seed=0)
    >>> hd.standard_errors(fit).emission["rate"].round(3).tolist()
    [0.354]
    """

    initial: Array
    transition: Array
    end: Array | None
    emission: Any
    lower: dict[str, Any]
    upper: dict[str, Any]
    estimates: dict[str, Any]
    level: float
    method: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts."""
        errors = {part: getattr(self, part) for part in ("initial", "transition", "end", "emission")}
        return {
            "format": "hidiv.standard_errors", "version": 1, "level": self.level, "method": self.method,
            **{name: _plain(part) for name, part in (("errors", errors), ("lower", self.lower), ("upper", self.upper),
                                                     ("estimates", self.estimates))},
            "notes": list(self.notes),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> StandardErrors:
        """The errors of a description as `to_dict` writes it."""
        errors, lower, upper, estimates = (_arrays(described[key]) for key in ("errors", "lower", "upper", "estimates"))
        return cls(
            errors["initial"], errors["transition"], errors["end"], errors["emission"], lower, upper, estimates,
            float(described["level"]), str(described["method"]), tuple(described["notes"]),
        )  # fmt: skip

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """(name, estimate, standard error, lower, upper) of every entry that was fitted."""
        errors = {part: getattr(self, part) for part in ("initial", "transition", "end", "emission")}
        flat = [by_place(part) for part in (self.estimates, errors, self.lower, self.upper)]
        return [
            (name, value, flat[1][name], flat[2][name], flat[3][name])
            for name, value in flat[0].items()
            if flat[1].get(name, 0.0) > 0.0
        ]

    def summary(self) -> str:
        """A table of all parameters with their errors and intervals."""
        lines = [f"{self.level:.0%} intervals, information by {self.method}"]
        rows = self.rows()
        width = max((len(row[0]) for row in rows), default=0)
        lines += [
            f"  {name:<{width}}  {value:10.5g} +- {error:8.2g}  [{low:.5g}, {high:.5g}]"
            for name, value, error, low, high in rows
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return self.summary()


def _plain(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items()}
    return [_plain(each) for each in part] if isinstance(part, list | tuple) else part


def _arrays(part: Any, key: str = "") -> Any:
    if isinstance(part, dict):
        return {name: _arrays(value, name) for name, value in part.items()}
    if isinstance(part, list) and part and isinstance(part[0], dict):
        each = [_arrays(value) for value in part]
        return tuple(each) if key == "emission" else each
    return None if part is None else frozen(np.array(part, dtype=np.float64))


def by_place(part: Any, name: str = "") -> dict[str, float]:
    """Every entry by its place, as messages name it."""
    if part is None:
        return {}
    if isinstance(part, np.ndarray):
        return {name + "".join(f"[{i}]" for i in at): float(part[at]) for at in np.ndindex(part.shape)}
    items = part.items() if isinstance(part, dict) else ((f"[{i}]", each) for i, each in enumerate(part))
    flat: dict[str, float] = {}
    for key, value in items:
        joined = key if not name or (name == "emission" and not key.startswith("[")) else (
            f"{name}{key}" if key.startswith("[") else f"{name}.{key}"
        )  # fmt: skip
        flat |= by_place(value, joined)
    return flat


def standard_errors(
    fit: Any, evidence: Any = None, tree: Any = None, *, level: float = 0.95, method: str = "auto"
) -> StandardErrors:
    """Compute the standard errors and intervals of a fit's parameters.

    Parameters
    ----------
    fit : FitResult, Model or object of a supported library
        The fit. One that comes straight from `hd.fit` knows its data.
    evidence : Evidence, array-like, DataFrame, list of text, or a list of these, optional
        The data that the model was fitted to, as in `hd.fit`; needed for a fit that was read from a file and for a
        model.
    tree : Tree, int or list of these, optional
        Their trees, as in `hd.fit`. By default chains.
    level : float, default 0.95
        The probability with which an interval covers the true parameter, for large data.
    method : {"auto", "outer products", "differences"}, default "auto"
        How the information is found: by outer products of the scores of the sequences, which needs many of them, or by
        differences of the score of all of the data. "auto" takes outer products from ten sequences a parameter on.

    Returns
    -------
    StandardErrors
        Errors and intervals in the shapes of the parameters.

    Raises
    ------
    HidivError
        Where the data are needed and not given, or an argument is out of range.

    See Also
    --------
    score : the gradient that this is made of.
    divergence_interval : the error of a divergence between two fits.

    Notes
    -----
    The log-likelihood is that of definitions (2.4). The covariance of the estimates is the inverse of the information
    in log-ratio coordinates, carried over to the probabilities; those below 1e-6 are held at 0, where estimates are not
    normal. Intervals are symmetric for probabilities in log p/(1 - p), for scales, shapes and rates in the logarithm,
    for all else in the parameter itself. They hold for the labelling of the states that the fit has. An initial law is
    estimated from as many states as there are sequences; from one sequence it is at its boundary.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> fit = hd.fit(hd.sample(p, 500, seed=1)[1], None, 2, "poisson", n_init=1, seed=0)
    >>> errors = hd.standard_errors(fit)
    >>> errors.method, sorted(errors.emission["rate"].round(2).tolist())
    ('differences', [0.06, 0.24])
    """
    if method not in METHODS:
        refuse(HidivError, "method", f"must be one of {', '.join(METHODS)}", method)
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        refuse(HidivError, "level", "must lie between 0 and 1", level)
    model, forest, fixed = data_of(fit, evidence, tree)
    return errors_of(model, covariance_of(model, forest, fixed, method), level)


def data_of(
    fit: Any, evidence: Any, tree: Any, place: str = "evidence"
) -> tuple[Model, EvidenceForest, frozenset[str]]:
    """The model of a fit (a FitResult or anything `as_model` takes), its data and what was fixed."""
    known = getattr(fit, "data", None)
    known = known if isinstance(known, EvidenceForest) else None
    fixed: frozenset[str] = getattr(fit, "fixed", frozenset())
    model = as_model(fit)
    if evidence is not None:
        known = forest_of(evidence, tree, None, None)
    if known is None:
        remedy = "give the data that it was fitted to"
        refuse(HidivError, place, "is needed: only a fit that comes straight from hd.fit knows its data", remedy=remedy)
    return model, known, fixed


def errors_of(model: Model, covariance: Covariance, level: float) -> StandardErrors:
    """The errors of all parameters from the covariance of their coordinates."""
    estimates = _parts(model)
    errors, lower, upper = (_copied(estimates, fill) for fill in (0.0, None, None))
    z = float(ndtri(0.5 + 0.5 * level))
    first = 0
    for block in covariance.blocks:
        own = slice(first, first + block.size)
        first += block.size
        error = np.sqrt(np.maximum(block.spread(covariance.matrix[own, own]), 0.0))
        low, high = _interval(block, error, z)
        for parts, value in ((errors, error), (lower, low), (upper, high)):
            _place(parts, block, value, model)
    for parts in (estimates, errors, lower, upper):
        _freeze(parts)
    return StandardErrors(
        errors["initial"], errors["transition"], errors["end"], errors["emission"], lower, upper, estimates, level,
        covariance.method, covariance.notes,
    )  # fmt: skip


def _interval(block: ParameterBlock, error: Array, z: float) -> tuple[Array, Array]:
    """Lower and upper ends, symmetric in the scale in which estimates are nearest to normal."""
    value = block.value
    with np.errstate(all="ignore"):
        if block.kind in ("rows", "unit"):
            inside = (value > EDGE) & (value < 1.0 - EDGE) & (error > 0)
            p = np.where(inside, value, 0.5)
            logit, half = np.log(p) - np.log1p(-p), np.where(inside, z * error / (p * (1.0 - p)), 0.0)
            ends = [1.0 / (1.0 + np.exp(-np.clip(logit + side * half, -700.0, 700.0))) for side in (-1.0, 1.0)]
            low, high = (np.where(inside, end, value) for end in ends)
        elif block.kind in LOGARITHMIC:
            factor = np.where(value > 0, np.exp(np.minimum(z * error / np.where(value > 0, value, 1.0), 700.0)), 1.0)
            low, high = value / factor, value * factor
        else:
            low, high = value - z * error, value + z * error
    return low, high


def _parts(model: Model) -> dict[str, Any]:
    """The parameters of a model by part, as arrays that may be written to."""
    transition = np.array(model.transitions if len(model.transitions) > 1 else model.transitions[0])
    emission = tuple(_of_family(family) for family in model.emissions)
    return {
        "initial": np.array(model.initial), "transition": transition,
        "end": None if model.end is None else np.array(model.end),
        "emission": emission[0] if len(emission) == 1 else emission,
    }  # fmt: skip


def _of_family(family: Any) -> dict[str, Any]:
    ranges = family.ranges()
    parts: dict[str, Any] = {}
    for name, value in family.parameters().items():
        if name == family.nested:
            parts[name] = [_of_family(member) for member in value]
        elif ranges.get(name, "positive") != "fixed":
            parts[name] = np.array(value)
    return parts


def _copied(part: Any, fill: float | None) -> Any:
    """A copy, with all numbers replaced by `fill` unless that is None."""
    if isinstance(part, np.ndarray):
        return part.copy() if fill is None else np.full(part.shape, fill)
    if isinstance(part, dict):
        return {key: _copied(value, fill) for key, value in part.items()}
    return None if part is None else type(part)(_copied(each, fill) for each in part)


def _place(parts: dict[str, Any], block: ParameterBlock, value: Array, model: Model) -> None:
    """Write the numbers of a block to its place."""
    if block.path == ("initial",):
        parts["initial"][...] = value
    elif block.path == ("transition",):
        k = model.n_states
        parts["transition"][...] = value[:, :, :k] if parts["transition"].ndim == 3 else value[0, :, :k]
        if parts["end"] is not None:
            parts["end"][...] = value[0, :, k]
    else:
        inner = parts["emission"] if len(model.emissions) == 1 else parts["emission"][int(block.path[1])]
        for step in block.path[2:-1]:
            inner = inner[step]
        inner[block.path[-1]][...] = value


def _freeze(part: Any) -> None:
    if isinstance(part, np.ndarray):
        part.flags.writeable = False
    elif part is not None:
        for inner in part.values() if isinstance(part, dict) else part:
            _freeze(inner)
