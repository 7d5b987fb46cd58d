"""A divergence: its value, which quantity it is, how far it can be trusted, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from math import inf, isinf
from typing import Any, TypeVar

import numpy as np

from hidiv.divergences.numeric import Numeric
from hidiv.divergences.quantities import UNITS, Quantity, Status, header
from hidiv.divergences.saved_checks import check_saved
from hidiv.errors import HidivError, counted, refuse
from hidiv.markup import card, table
from hidiv.types import Array
from hidiv.values import Sentences, Value, restore

Known = TypeVar("Known")


@dataclass(frozen=True, eq=False)
class Parts(Value):
    """Where a joint divergence comes from; initial + transition + emission is the value.

    `rows` splits the transition part by row, `states` the emission part by state: (K,) each, (G, K) with groups.
    """

    initial: float
    rows: Array
    states: Array

    def __post_init__(self) -> None:
        for key in ("rows", "states"):
            object.__setattr__(self, key, _read_only(getattr(self, key)))

    @property
    def transition(self) -> float:
        """All transition rows together."""
        return float(self.rows.sum())

    @property
    def emission(self) -> float:
        """All emission states together."""
        return float(self.states.sum())

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def scaled(self, factor: float) -> Parts:
        """The same parts in another unit."""
        return Parts(self.initial * factor, self.rows * factor, self.states * factor)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, infinities as text."""
        keys = ("initial", "transition", "emission", "rows", "states")
        return {key: plain(self[key]) for key in keys}


def nothing() -> None:
    """None, the parts of a quantity that has none."""


def given(value: Known) -> Known:
    """The value itself, where it was computed before."""
    return value


@dataclass(frozen=True)
class Detail:
    """Parts and profile of a result as functions, which are called when first asked for."""

    parts: Callable[[], Parts | None] = nothing
    by_node: Callable[[], Array | None] = nothing


@dataclass(frozen=True, eq=False, repr=False)
class Divergence(Numeric):
    """D(p || q): a number that says which divergence it is and how far it can be trusted.

    In formats, comparisons and arithmetic it is its value.

    Parameters
    ----------
    value : float
        The divergence, in `unit`.
    quantity : {"joint", "posterior", "observed"}
        What is compared: states and observations, states given evidence, or observations alone.
    status : {"exact", "certified", "estimate", "approximation"}, default "exact"
        Exact up to rounding; inside an interval that is proven to hold; the mean of random draws; or a deterministic
        number without a proven bound.
    lower, upper : float, optional
        Bounds. They hold for an exact or certified value; of an estimate they are the 95 % interval.
    std_error : float, optional
        The standard error of an estimate.
    n_samples : int, optional
        How many draws an estimate is made of.
    unit : {"nats", "bits"}, default "nats"
        The unit of all these numbers.
    per : {"node", "tree", "step"}, optional
        What the value was divided by.
    infinite : sequence of str, default ()
        Why the value is +inf, the first place first.
    certificate : dict, optional
        What a certified interval rests on.
    notes : sequence of str, default ()
        What else there is to say, in sentences.
    subject : str, default "D(p || q)"
        The models and the tree, in words.
    error : float, optional
        The error of an approximation as refining it suggests; no bound. None where nothing was refined.
    detail : Detail
        How `parts` and `by_node` are computed when they are asked for.

    Notes
    -----
    A table in docs/definitions.md says what each status comes with.

    Examples
    --------
    >>> d = Divergence(0.5, "joint")
    >>> f"{d:.3f}", d < 1, d + d, max(d, 2.0), round(d, 1)
    ('0.500', True, 1.0, 2.0, 0.5)
    """

    value: float
    quantity: Quantity
    status: Status = "exact"
    lower: float | None = None
    upper: float | None = None
    std_error: float | None = None
    n_samples: int | None = None
    unit: str = "nats"
    per: str | None = None  # "node" or "step" when the value was divided
    infinite: Sequence[str] = ()
    certificate: dict[str, Any] | None = None
    notes: Sequence[str] = ()
    subject: str = "D(p || q)"
    error: float | None = None
    detail: Detail = field(default_factory=Detail)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        for key in ("infinite", "notes"):
            object.__setattr__(self, key, Sentences(getattr(self, key)))
        if self.status == "exact":
            object.__setattr__(self, "lower", self.value)
            object.__setattr__(self, "upper", self.value)

    @cached_property
    def parts(self) -> Parts | None:
        """The value by initial law, transition rows and emission states; None where the quantity has no such parts."""
        return self.detail.parts()

    @cached_property
    def by_node(self) -> Array | None:
        """(n,): the share of each node, summing to the value; None where nodes are not listed."""
        shares = self.detail.by_node()
        return None if shares is None else _read_only(shares)

    def __float__(self) -> float:
        return self.value

    def noted(self, *sentences: str) -> Divergence:
        """The same result with further sentences in its notes."""
        return replace(self, notes=(*self.notes, *sentences)) if sentences else self

    def __getstate__(self) -> dict[str, Any]:
        # Functions cannot be pickled: parts and profile are computed and kept instead.
        known = Detail(partial(given, self.parts), partial(given, self.by_node))
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"detail": known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def to(self, unit: str) -> Divergence:
        """The same result in "nats" or "bits"."""
        if unit not in UNITS:
            refuse(HidivError, "unit", 'must be "nats" or "bits"', unit)
        factor = UNITS[unit] / UNITS[self.unit]

        def scaled(number: float | None) -> float | None:
            return None if number is None else number * factor

        return replace(
            self,
            value=self.value * factor,
            lower=scaled(self.lower),
            upper=scaled(self.upper),
            std_error=scaled(self.std_error),
            error=scaled(self.error),
            unit=unit,
            detail=Detail(
                lambda: None if self.parts is None else self.parts.scaled(factor),
                lambda: None if self.by_node is None else self.by_node * factor,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, ready for JSON; infinities as "inf"; by_node is left out."""
        described = header("divergence")
        keys = ("subject", "quantity", "status", "value", "lower", "upper", "std_error", "n_samples", "error", "unit",
                "per")  # fmt: skip
        described |= {key: plain(getattr(self, key)) for key in keys}
        described |= {"infinite": list(self.infinite), "certificate": plain(self.certificate)}
        described["notes"] = list(self.notes)
        described["parts"] = None if self.parts is None else self.parts.to_dict()
        return described

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Divergence:
        """A result as it was saved; what `to_dict` cannot have written is refused."""
        check_saved(described)
        parts, known = described["parts"], None
        if parts is not None:
            known = Parts(number(parts["initial"]), _array(parts["rows"]), _array(parts["states"]))
        numbers = {key: described.get(key) for key in ("value", "lower", "upper", "std_error", "error")}
        return cls(
            **{key: None if value is None else number(value) for key, value in numbers.items()},  # type: ignore[arg-type]
            **{key: described[key] for key in ("quantity", "status", "n_samples", "unit", "per")},
            **{key: described[key] for key in ("certificate", "subject")},
            infinite=described["infinite"],
            notes=described["notes"],
            detail=Detail(partial(given, known)),
        )

    @property
    def measure(self) -> str:
        """The unit in words: nats, bits, nats per node."""
        return self.unit if self.per is None else f"{self.unit} per {self.per}"

    def _repr_html_(self) -> str:
        """The value and its parts, in a notebook."""
        blocks = []
        if self.parts is not None:
            share = self.value if 0 < self.value < inf else 1.0
            parts = [(name, float(self.parts[name])) for name in ("initial", "transition", "emission")]
            rows = [(name, [value, f"{value / share:.0%}" if self.value < inf else ""]) for name, value in parts]
            blocks.append(table([self.measure, "share"], rows))
        return card(repr(self).split("; infinite because")[0], *blocks, notes=[*self.infinite, *self.notes])

    def __repr__(self) -> str:
        sentence = f"{self.quantity} divergence {self.subject} = {self.value:.12g} {self.measure}, {self.status}"
        if self.std_error is not None:
            sentence += f" (standard error {self.std_error:.2g}, {counted(self.n_samples or 0, 'sample')})"
        elif self.error is not None:
            sentence += f" (error about {self.error:.2g})"
        elif self.status == "certified":
            sentence += f" (between {self.lower:.12g} and {self.upper:.12g})"
        return sentence + ("; infinite because " + "; ".join([self.infinite[0], *self.notes]) if self.infinite else "")


def _read_only(array: Array) -> Array:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def plain(value: Any) -> Any:
    """Arrays as lists and infinities as text, so that strict JSON can hold them."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def number(value: Any) -> float:
    """A float that `plain` wrote."""
    if value in ("inf", "-inf"):
        return inf if value == "inf" else -inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _array(value: Any) -> Array:
    """Nested lists that `plain` wrote."""
    return np.array([_array(v) for v in value] if isinstance(value, list) else number(value), dtype=np.float64)
