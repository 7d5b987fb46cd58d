"""A measure of two models other than a divergence: its value, how far it can be trusted, and its logarithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

from hidiv.divergences.numeric import Numeric
from hidiv.divergences.quantities import STATUSES, UNITS, Status, header
from hidiv.divergences.result import number, plain
from hidiv.errors import InvalidFile, counted, refuse
from hidiv.models.checks import check_format, check_keys
from hidiv.values import Sentences, Value

_NUMBERS = ("value", "lower", "upper", "std_error", "log", "complement")
_KEYS = ("name", "status", *_NUMBERS, "n_samples", "unit", "per", "notes", "subject")


@dataclass(frozen=True, eq=False, repr=False)
class Measure(Numeric, Value):
    """A number for two models that says which measure it is and how far it can be trusted.

    In formats, comparisons and arithmetic it is its value.

    Parameters
    ----------
    value : float
        The measure.
    name : str
        Which one: "product kernel", "Bhattacharyya coefficient", ...
    status : {"exact", "certified", "estimate", "approximation"}, default "exact"
        As of a `Divergence`.
    lower, upper : float, optional
        Bounds that hold for an exact or certified value; of an estimate the 95 % interval inside the bounds.
    std_error : float, optional
        The standard error of an estimate.
    n_samples : int, optional
        How many draws an estimate is made of.
    log : float, optional
        The logarithm of the value, also where the value underflows to 0.
    complement : float, optional
        One less the value, with its own digits, also where the value rounds to 1.
    unit : {"", "nats", "bits"}, default ""
        The unit; most measures are plain numbers.
    per : {"step"}, optional
        What the value was divided by.
    notes : sequence of str, default ()
        What else there is to say, in sentences.
    subject : str, default "p and q"
        The models and the tree, in words.

    Examples
    --------
    >>> m = Measure(0.25, "product kernel", complement=0.75)
    >>> f"{m:.3f}", m < 1, m + m, float(m)
    ('0.250', True, 0.5, 0.25)
    >>> m
    product kernel of p and q = 0.25, exact
    """

    value: float
    name: str
    status: Status = "exact"
    lower: float | None = None
    upper: float | None = None
    std_error: float | None = None
    n_samples: int | None = None
    log: float | None = None
    complement: float | None = None
    unit: str = ""
    per: str | None = None
    notes: Sequence[str] = ()
    subject: str = "p and q"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "notes", Sentences(self.notes))
        if self.status == "exact":
            object.__setattr__(self, "lower", self.value)
            object.__setattr__(self, "upper", self.value)

    def __float__(self) -> float:
        return self.value

    __eq__ = Numeric.__eq__
    __hash__ = Numeric.__hash__

    def to(self, unit: str) -> Measure:
        """The same in "nats" or "bits"; a plain number stays as it is."""
        if not self.unit or unit == self.unit:
            return self
        factor = UNITS[unit] / UNITS[self.unit]
        scaled: dict[str, Any] = {
            key: None if (x := getattr(self, key)) is None else x * factor
            for key in ("value", "lower", "upper", "std_error")
        }
        return replace(self, **scaled, log=None if self.log is None else self.log + log(factor), unit=unit)

    def noted(self, *sentences: str) -> Measure:
        """The same result with further sentences in its notes."""
        return replace(self, notes=(*self.notes, *sentences)) if sentences else self

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; infinities as "inf"."""
        return header("measure") | {key: plain(getattr(self, key)) for key in _KEYS if key != "notes"} | {
            "notes": list(self.notes)
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Measure:
        """A result as it was saved; what `to_dict` cannot have written is refused."""
        check_keys(InvalidFile, described, _KEYS, ("format", "version"))
        check_format(InvalidFile, described, "hidiv.measure")
        if described["status"] not in STATUSES:
            refuse(InvalidFile, "status", f"must be one of {', '.join(STATUSES)}", described["status"])
        for key in ("name", "subject", "unit"):
            if not isinstance(described[key], str):
                refuse(InvalidFile, key, "must be text", repr(described[key]))
        notes = described["notes"]
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            refuse(InvalidFile, "notes", "must be a list of texts", notes)
        numbers: dict[str, Any] = {}
        for key in _NUMBERS:
            try:
                numbers[key] = None if described[key] is None else number(described[key])
            except TypeError:
                refuse(InvalidFile, key, 'must be a number, "inf" or "-inf"', repr(described[key]))
        if numbers["value"] is None:
            refuse(InvalidFile, "value", "is missing")
        return cls(
            **numbers, **{key: described[key] for key in ("name", "status", "n_samples", "unit", "per", "subject")},
            notes=notes,
        )  # fmt: skip

    def __repr__(self) -> str:
        unit = " ".join([*([self.unit] if self.unit else []), *([f"per {self.per}"] if self.per else [])])
        value = f"{self.value:.12g}{' ' + unit if unit else ''}"
        if self.log is not None and self.value == 0 and exp(min(self.log, 0.0)) == 0 and self.log > -float("inf"):
            value = f"e^{self.log:.12g}"
        sentence = f"{self.name} of {self.subject} = {value}, {self.status}"
        if self.std_error is not None:
            sentence += f" (standard error {self.std_error:.2g}, {counted(self.n_samples or 0, 'sample')})"
        elif self.status == "certified":
            sentence += f" (between {self.lower:.12g} and {self.upper:.12g})"
        return sentence
