"""How many numbers of a model were free to be fitted."""

from __future__ import annotations

from hidiv.emissions.family import Family
from hidiv.models.model import Model


def count_parameters(model: Model, fixed: frozenset[str] = frozenset()) -> int:
    """Free parameters: the root's law, every row of every transition with its end, every emission."""
    k = model.n_states
    count = 0 if "initial" in fixed else k - 1
    if "transition" not in fixed:
        count += int(model.has_transition.sum()) * k * (k - 1) + (0 if model.end is None else k)
    if "emission" not in fixed:
        count += sum(of_family(family, fixed) for family in model.emissions)
    return count


def of_family(family: Family, fixed: frozenset[str]) -> int:
    """Free parameters of all states of a family."""
    if family.name == "silent":
        return 0
    if family.name == "product":
        return sum(of_family(member, fixed) for member in family.parameters()["families"])
    if family.name == "mixture":
        weights = family.parameters()["weights"]
        inner = sum(of_family(member, fixed) for member in family.parameters()["components"])
        return inner + (0 if "weights" in fixed else int(weights.size - weights.shape[0]))
    if family.name in ("categorical", "multinomial"):
        probs = family.parameters()["probs"]
        return 0 if "probs" in fixed else int(probs.size - probs.shape[0])
    ranges, total = family.ranges(), 0
    for name, value in family.parameters().items():
        if name in fixed:
            continue
        if name == "cov":
            total += value.shape[0] * value.shape[1] * (value.shape[1] + 1) // 2
        elif ranges.get(name) != "fixed":
            total += int(value.size)
    return total
