"""Two models side by side: every divergence that is defined, how they add up, and why the rest is not defined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hidiv.divergences.alignment.align import Alignment
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.quantities import COMPARED, MEANINGS, OVERLAPS, UNITS, called, header, in_names, in_words
from hidiv.divergences.result import Divergence, number, plain
from hidiv.divergences.saved_checks import check_saved_comparison
from hidiv.errors import InvalidFile, counted
from hidiv.markup import card, table
from hidiv.values import Value

SAYING_NOTHING = 0.4  # width of bounds on an error of 0 to 1/2


def _span(result: Measure) -> str:
    """A measure in a sentence: its bounds, those of 95 % of an estimate, or the number alone where it is exact."""
    if result.std_error is not None:
        return f"{result.name} about {result.value:.2g} (95 % interval {result.lower:.2g} to {result.upper:.2g})"
    if result.lower == result.upper:
        return f"{result.name} {result.value:.6g}"
    return f"{result.name} between {result.lower:.6g} and {result.upper:.6g}"


@dataclass(frozen=True)
class Rates:
    """The divergences per step along an endless chain; None where one is not defined."""

    joint: Divergence | None = None
    observed: Divergence | None = None
    expected_posterior: Divergence | None = None

    def __getitem__(self, key: str) -> Divergence | None:
        rate: Divergence | None = getattr(self, key)
        return rate

    def __iter__(self) -> Iterator[str]:
        return (f.name for f in fields(self))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Value):
    """The divergences of two models side by side, as `compare` returns them.

    Parameters
    ----------
    subject : str
        The models and the tree, in words.
    p, q : str or None
        The names of the models.
    joint, joint_per_node, joint_aligned : Divergence, optional
        Of states and observations: as labelled, divided by the number of nodes, and with q's states in the order of
        `alignment`.
    observed : Divergence, optional
        Of the observations, states summed out.
    expected_posterior : Divergence, optional
        joint - observed.
    posterior : Divergence, optional
        Of the states given the evidence.
    alignment : Alignment, optional
        The order of q's states that fits p best.
    do_bound : Divergence, optional
        Do's upper bound on the observed divergence.
    hellinger, total_variation, bayes_error : Measure, optional
        Proven bounds on how well the observations tell the models apart, where they are quick to compute.
    rates : Rates
        The divergences per step along an endless chain.
    undefined : dict of str
        Why a quantity is None, by its name.
    unit : {"nats", "bits"}, default "nats"
        The unit of all numbers.
    notes : tuple of str
        What to know before the numbers: why the joint divergence is infinite where the observed one is not, and how
        much of it is an initial law.

    Notes
    -----
    joint = observed + expected_posterior is the chain rule, definitions (5.1).

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.1, 0.8]))
    >>> q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Bernoulli([0.8, 0.1]))
    >>> comparison = hd.compare(p, q, 5)
    >>> comparison.joint > comparison.joint_aligned > comparison.observed
    True
    """

    subject: str
    p: str | None  # names of the models
    q: str | None
    joint: Divergence | None = None
    joint_per_node: Divergence | None = None
    joint_aligned: Divergence | None = None
    observed: Divergence | None = None
    expected_posterior: Divergence | None = None
    posterior: Divergence | None = None
    alignment: Alignment | None = None
    do_bound: Divergence | None = None
    hellinger: Measure | None = None
    total_variation: Measure | None = None
    bayes_error: Measure | None = None
    rates: Rates = field(default_factory=Rates)
    undefined: dict[str, str] = field(default_factory=dict)
    unit: str = "nats"
    notes: tuple[str, ...] = ()

    def _held(self) -> dict[str, Any]:
        return self.to_dict()

    @property
    def infinite(self) -> list[str]:
        """Which quantities are infinite and why, the first place first; those of one reason together."""
        return [f"{listed(names)}: infinite because {reason}" for reason, names in self._infinite().items()]

    @property
    def names(self) -> tuple[str, str]:
        """The models in sentences: their names, or "p" and "q"."""
        return called(self.p, self.q)

    def _infinite(self) -> dict[str, tuple[str, ...]]:
        """Each reason of an infinity, in the names of the models, and the quantities it makes infinite."""
        named = {in_words(name): getattr(self, name) for name in MEANINGS}
        named |= {f"{in_words(name)} rate": self.rates[name] for name in self.rates}
        reasons: dict[str, tuple[str, ...]] = {}
        for name, result in named.items():
            for reason in () if result is None else result.infinite:
                words = in_names(reason, self.names)
                reasons[words] = (*reasons.get(words, ()), name)
        return reasons

    @property
    def infinite_in_short(self) -> list[str]:
        """The same with the first reason alone of each list of quantities, and how many more there are."""
        reasons = self._infinite()
        counts = Counter(reasons.values())
        first = {names: reason for reason, names in reversed(reasons.items())}
        return [
            f"{listed(names)}: infinite because {first[names]}"
            + (f"; and {counted(count - 1, 'more reason')}, see .infinite" if count > 1 else "")
            for names, count in counts.items()
        ]

    @property
    def absent(self) -> list[str]:
        """Which quantities are not defined and why; those of one reason together."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.undefined.items():
            reasons.setdefault(reason, []).append(in_words(name))
        return [f"{listed(names)}: none, because {in_names(reason, self.names)}" for reason, names in reasons.items()]

    @property
    def chain_rule(self) -> str | None:
        """joint = observed + expected posterior in numbers, where all three are defined and finite."""
        terms = self.joint, self.observed, self.expected_posterior
        if any(term is None or term.infinite for term in terms):
            return None
        digits = 4 if any(term is not None and term.status == "estimate" for term in terms) else 10
        joint, observed, left = (f"{term.value:.{digits}g}" for term in terms if term is not None)
        return f"joint {joint} = observed {observed} + expected posterior {left}"

    @property
    def overlap(self) -> list[str]:
        """How well the observations tell the models apart, in sentences; none where the bounds say almost nothing."""
        error = self.bayes_error
        if error is None:
            return []
        if error.lower is not None and error.upper is not None and error.upper - error.lower > SAYING_NOTHING:
            return []
        spans = [_span(result) for result in (self.hellinger, self.total_variation) if result is not None]
        return [error.notes[0], ", ".join(spans)]

    def to(self, unit: str) -> Comparison:
        """The same in "nats" or "bits"."""
        alignment = self.alignment
        changed = {f.name: _in(getattr(self, f.name), unit) for f in fields(self) if f.name != "alignment"}
        if alignment is not None:
            factor = UNITS[unit] / UNITS[self.unit]
            scaled = {name: getattr(alignment, name) * factor for name in ("value", "gain", "finite")}
            alignment = replace(alignment, **scaled)
        return Comparison(**changed | {"alignment": alignment, "unit": unit})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, ready for JSON; infinities as "inf", None where not defined."""
        described = header("comparison")
        described |= {key: getattr(self, key) for key in ("subject", "p", "q", "unit")}
        described |= {name: _described(getattr(self, name)) for name in (*COMPARED, *OVERLAPS)}
        described["alignment"] = None if self.alignment is None else plain(vars(self.alignment))
        described["rates"] = {name: _described(self.rates[name]) for name in self.rates}
        return described | {"infinite": self.infinite, "undefined": dict(self.undefined), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Comparison:
        """A comparison as it was saved; what `to_dict` cannot have written is refused."""
        check_saved_comparison(described)
        results: dict[str, Any] = {name: _read(name, described[name]) for name in COMPARED}
        results["rates"] = Rates(**{name: _read(f"rates.{name}", described["rates"][name]) for name in Rates()})
        alignment = described["alignment"]
        if alignment is not None:
            numbers = {key: number(alignment[key]) for key in ("value", "gain", "finite")}
            alignment = Alignment(**alignment | numbers | {"permutation": tuple(alignment["permutation"])})
        for name in OVERLAPS:
            if described.get(name) is not None:
                results[name] = _read(name, described[name], Measure)
        texts = {key: described[key] for key in ("subject", "p", "q", "unit")}
        undefined, notes = dict(described["undefined"]), tuple(described.get("notes", ()))
        return cls(**texts, **results, alignment=alignment, undefined=undefined, notes=notes)

    def _repr_html_(self) -> str:
        """The quantities as a table, in a notebook."""
        named = [(in_words(name), getattr(self, name)) for name in MEANINGS]
        named += [(f"{in_words(name)} rate", self.rates[name]) for name in self.rates]
        rows: list[tuple[str, list[Any]]] = [
            (name, [f"{result.value:.6g}", result.measure, _standing(result)])
            for name, result in named
            if result is not None
        ]
        notes = [
            line for line in (*self.notes, self.chain_rule, *self.infinite_in_short, *self.absent) if line is not None
        ]
        return card(f"comparison {self.subject}", table(["value", "unit", "status"], rows), notes=notes)

    def __repr__(self) -> str:
        lines = [f"comparison {self.subject}", *(f"  {note}" for note in self.notes)]
        named = [(in_words(name), getattr(self, name)) for name in MEANINGS]
        named += [(f"{in_words(name)} rate", self.rates[name]) for name in self.rates]
        lines += [f"  {name}: {short(result)}" for name, result in named if result is not None]
        sentences = (self.chain_rule, *self.overlap, *self.infinite_in_short, *self.absent)
        lines += [f"  {line}" for line in sentences if line is not None]
        return "\n".join(lines)


def listed(names: Sequence[str]) -> str:
    """Names one after the other; they may hold commas."""
    return "; ".join(names)


def short(result: Divergence) -> str:
    """Number, unit, status and error of a result."""
    words = f"{result.value:.10g} {result.measure}, {result.status}"
    if result.std_error is not None:
        return f"{words} (standard error {result.std_error:.2g})"
    return words if result.error is None else f"{words} (error about {result.error:.2g})"


def _standing(result: Divergence) -> str:
    """The status of a result, with the error of one that has any."""
    return short(result).split(f"{result.measure}, ", 1)[1]


def _in(value: Any, unit: str) -> Any:
    """A divergence or rates in another unit; anything else as it is."""
    if isinstance(value, Rates):
        return Rates(**{name: _in(value[name], unit) for name in value})
    return value.to(unit) if isinstance(value, Divergence) else value


def _read(place: str, described: Any, kind: Any = Divergence) -> Any:
    """A saved divergence or measure; a refusal starts with its place."""
    try:
        return None if described is None else kind.from_dict(described)
    except InvalidFile as error:
        raise InvalidFile(f"{place}.{error}") from None


def _described(result: Divergence | Measure | None) -> dict[str, Any] | None:
    """A divergence as JSON holds it."""
    return None if result is None else result.to_dict()
