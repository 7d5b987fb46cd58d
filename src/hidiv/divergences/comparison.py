"""Two models side by side: every divergence that is defined, how they add up, and why the rest is not defined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hidiv.divergences.alignment.align import Alignment
from hidiv.divergences.result import UNITS, Divergence, number, plain
from hidiv.divergences.saved import check_saved_comparison
from hidiv.errors import InvalidFile
from hidiv.values import Value

# The quantities in the order they are told, and what each compares.
MEANINGS = {
    "joint": "states and observations together, states paired by their labels",
    "joint_aligned": "the same after q's states were put in the order that fits p best",
    "observed": "what a user sees, states summed out: no labels",
    "expected_posterior": "the hidden states given the observations, on average over observations of p",
    "posterior": "the hidden states given the evidence",
    "do_bound": "an upper bound on the observed divergence, which equals the joint one",
}


@dataclass(frozen=True)
class Rates:
    """The divergences a step along an endless chain; None where one is not defined."""

    joint: Divergence | None = None
    observed: Divergence | None = None
    expected_posterior: Divergence | None = None

    def __getitem__(self, key: str) -> Divergence | None:
        found: Divergence | None = getattr(self, key)
        return found

    def __iter__(self) -> Iterator[str]:
        return (f.name for f in fields(self))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Value):
    """What `compare` found; joint = observed + expected_posterior is the chain rule (definitions (5.1)).

    A quantity that is not defined is None and `undefined` says why, by name; `absent` says so in sentences, and
    `infinite` why infinite quantities are so.
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
    rates: Rates = field(default_factory=Rates)
    undefined: dict[str, str] = field(default_factory=dict)
    unit: str = "nats"

    def _held(self) -> dict[str, Any]:
        return self.to_dict()

    @property
    def infinite(self) -> list[str]:
        """Which quantities are infinite and why, the first place first; those of one reason together."""
        named = {spoken(name): getattr(self, name) for name in MEANINGS}
        named |= {f"{spoken(name)} rate": self.rates[name] for name in self.rates}
        reasons: dict[str, list[str]] = {}
        for name, found in named.items():
            for reason in () if found is None else found.infinite:
                reasons.setdefault(reason, []).append(name)
        return [f"{listed(names)}: infinite because {reason}" for reason, names in reasons.items()]

    @property
    def absent(self) -> list[str]:
        """Which quantities are not defined and why; those of one reason together."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.undefined.items():
            reasons.setdefault(reason, []).append(spoken(name))
        return [f"{listed(names)}: none, because {reason}" for reason, names in reasons.items()]

    @property
    def chain_rule(self) -> str | None:
        """joint = observed + expected posterior in numbers, where all three are there and finite."""
        terms = self.joint, self.observed, self.expected_posterior
        if any(term is None or term.infinite for term in terms):
            return None
        joint, observed, left = (f"{term.value:.10g}" for term in terms if term is not None)
        return f"joint {joint} = observed {observed} + expected posterior {left}"

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
        described: dict[str, Any] = {"format": "hidiv.comparison", "version": 1}
        described |= {key: getattr(self, key) for key in ("subject", "p", "q", "unit")}
        for name in ("joint", "joint_per_node", *list(MEANINGS)[1:]):
            described[name] = _described(getattr(self, name))
        described["alignment"] = None if self.alignment is None else plain(vars(self.alignment))
        described["rates"] = {name: _described(self.rates[name]) for name in self.rates}
        return described | {"infinite": self.infinite, "undefined": dict(self.undefined)}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Comparison:
        """A comparison as it was saved; what `to_dict` cannot have written is refused."""
        check_saved_comparison(described)
        found: dict[str, Any] = {
            name: _read(name, described[name]) for name in ("joint", "joint_per_node", *list(MEANINGS)[1:])
        }
        rates = Rates(**{name: _read(f"rates.{name}", described["rates"][name]) for name in Rates()})
        order = described["alignment"]
        if order is not None:
            numbers = {key: number(order[key]) for key in ("value", "gain", "finite")}
            order = Alignment(**order | numbers | {"permutation": tuple(order["permutation"])})
        told = {key: described[key] for key in ("subject", "p", "q", "unit")}
        return cls(**told, **found, alignment=order, rates=rates, undefined=dict(described["undefined"]))

    def __repr__(self) -> str:
        lines = [f"comparison {self.subject}"]
        for name in MEANINGS:
            found = getattr(self, name)
            if found is not None:
                lines.append(f"  {spoken(name)}: {short(found)}")
        lines += [f"  {spoken(name)} rate: {short(found)}" for name in self.rates if (found := self.rates[name])]
        lines += [f"  {said}" for said in (self.chain_rule, *self.infinite, *self.absent) if said is not None]
        return "\n".join(lines)


def spoken(name: str) -> str:
    """The name of a quantity in words."""
    return {"joint_aligned": "joint aligned", "do_bound": "Do's bound"}.get(name, name.replace("_", " "))


def listed(names: list[str]) -> str:
    """Names one after the other; they may hold commas."""
    return "; ".join(names)


def short(found: Divergence) -> str:
    """Number, unit and standing of a result."""
    said = f"{found.value:.10g} {found.measure}, {found.status}"
    return said if found.std_error is None else f"{said} (standard error {found.std_error:.2g})"


def _in(value: Any, unit: str) -> Any:
    if isinstance(value, Rates):
        return Rates(**{name: _in(value[name], unit) for name in value})
    return value.to(unit) if isinstance(value, Divergence) else value


def _read(place: str, described: Any) -> Divergence | None:
    try:
        return None if described is None else Divergence.from_dict(described)
    except InvalidFile as error:
        raise InvalidFile(f"{place}.{error}") from None


def _described(found: Divergence | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
