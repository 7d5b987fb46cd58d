"""How every number of a comparison was computed, in sentences."""

from __future__ import annotations

from typing import Any

from hidiv.divergences.comparison import Comparison
from hidiv.divergences.quantities import MEANINGS, STATUSES, in_names, in_words
from hidiv.divergences.result import Divergence

# What a status promises.
PROMISES = {
    "exact": "An exact number is a finite sum, with no error but rounding.",
    "certified": "A certified number lies between bounds that are proven.",
    "estimate": "An estimate comes from random draws; ± is half the width of its 95 % interval.",
    "approximation": "An approximation comes from a quadrature or a formula whose error is not proven.",
}

# The methods of certificates, where their names do not speak for themselves; "" adds nothing.
PROOFS = {
    "alphabet": "",
    "none": "",
    "chain rule": "",
    "blocks": "showing the hidden states after blocks of symbols",
    "cheap bounds": "bounds that hold for any number of states and are quick",
    "closed classes of p": "taking apart what p can settle in",
    "contexts": "following what the last symbols tell of the hidden states",
    "convexity on a grid of filters": "a grid over what can be known of the hidden states, and convexity between",
    "enumeration of the first symbols": "listing the first symbols",
    "first nodes below, smallest joint divergence over relabellings above": "the first nodes from below, and from "
    "above the smallest joint divergence over all orders of the states",
    "messages spread on a grid of log-odds": "a grid over what subtrees can tell of their root",
    "recursion in the log-odds of the filter": "a recursion over what can be known of the two hidden states",
    "residual of a value function in the log-odds of the filter, with a proven quadrature error": "a function of what "
    "is known of the two hidden states, its residual bounded everywhere, with a proven error of all integrals",
    "smallest joint divergence over relabellings": "the smallest joint divergence over all orders of the states",
    "support of configurations": "which values can be seen together",
    "support of words": "which words can be seen",
}  # fmt: skip


def methods(comparison: Comparison) -> list[dict[str, Any]]:
    """Every quantity, and how it was computed; the aligned joint divergence once where it is the joint one."""
    named = {name: getattr(comparison, name) for name in MEANINGS}
    joint, aligned = comparison.joint, comparison.joint_aligned
    if joint is not None and aligned is not None and joint.value == aligned.value:
        del named["joint_aligned"]
    named |= {f"{name}_rate": comparison.rates[name] for name in comparison.rates}
    return [
        {"name": in_words(name), "result": result, "how": sentences(name, result, comparison.names)}
        for name, result in named.items()
        if result is not None
    ]


def promises(comparison: Comparison) -> list[str]:
    """What each status that occurs promises, the surest first."""
    found = {one["result"].status for one in methods(comparison)}
    return [PROMISES[status] for status in STATUSES if status in found]


def sentences(name: str, result: Divergence, names: tuple[str, str]) -> list[str]:
    """How one number was computed: its kind of sum, its notes, and what its bounds rest on."""
    said = [_sum(name, result), *result.notes, *_proof(result)]
    return [_sentence(in_names(clause, names)) for clause in said if clause]


def _sum(name: str, result: Divergence) -> str:
    """What is added up, of exact quantities whose notes do not say it."""
    if result.status != "exact" or result.infinite:
        return ""
    return {
        "joint": "first states, transitions and emissions are compared one by one, and weighed by how often p is "
        "expected to use them",
        "joint_aligned": "the same with the states of q in the order that fits p best",
        "joint_rate": "the same along an endless chain, for one step",
        "posterior": "one pass over the data compares what both models know of the hidden states",
    }.get(name, "")


def _proof(result: Divergence) -> list[str]:
    """A clause with the methods a certificate rests on; its numbers are in the JSON."""
    found: list[str] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            method = part.get("method")
            if isinstance(method, str):
                found.append(PROOFS.get(method, method))
            for inner in part.values():
                walk(inner)

    walk(result.certificate)
    ways = [way for way in dict.fromkeys(found) if way]
    return [f"the bounds are proven by {'; by '.join(ways)}"] if ways else []


def _sentence(clause: str) -> str:
    """A clause as a sentence; a clause that starts with code keeps its first letter."""
    first = clause if clause.startswith(("hd.", "log ", "KL(")) else clause[:1].upper() + clause[1:]
    return f"{first}."
