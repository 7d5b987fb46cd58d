"""The divergences by name: what each compares, how far a value can be trusted, its units, and the JSON version."""

from __future__ import annotations

import re
from math import log
from typing import Any, Literal, get_args

Quantity = Literal["joint", "posterior", "observed"]
Status = Literal["exact", "certified", "estimate", "approximation"]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
STATUSES: tuple[Status, ...] = get_args(Status)
UNITS = {"nats": 1.0, "bits": 1.0 / log(2.0)}  # how many of each make a nat
VERSION = 1  # of every JSON format written here; docs/json.md lists their keys

# The quantities of a comparison in the order they are shown, and what each compares.
MEANINGS = {
    "joint": "states and observations together, states paired by their labels",
    "joint_aligned": "the same after q's states were put in the order that fits p best",
    "observed": "the observations alone, hidden states summed out; labels do not matter",
    "expected_posterior": "the hidden states given the observations, on average over observations of p",
    "posterior": "the hidden states given the evidence",
    "do_bound": "an upper bound on the observed divergence, which equals the joint one",
}
COMPARED = ("joint", "joint_per_node", *tuple(MEANINGS)[1:])  # the divergences a comparison holds
OVERLAPS = ("hellinger", "total_variation", "bayes_error")  # measures a comparison holds
RATES = ("joint", "observed", "expected_posterior")  # those that have a rate along an endless chain


def in_words(name: str) -> str:
    """The name of a quantity as a reader sees it: "joint aligned", "Do's bound"."""
    return {"do_bound": "Do's bound"}.get(name, name.replace("_", " "))


def called(p: str | None, q: str | None) -> tuple[str, str]:
    """The names of two models in sentences, "p" and "q" if they have none; told apart where they are equal."""
    first, second = p or "p", q or "q"
    return (first, second) if first != second else (f"{first} (p)", f"{second} (q)")


def in_names(sentence: str, names: tuple[str, str]) -> str:
    """A sentence about p and q with the names of the models; quotations and calls are left as they are.

    >>> in_names("q forbids state 1 ('q') of p; hd.smoothed(q, weight) fills the zeros of q", ("wet", "dry"))
    "dry forbids state 1 ('q') of wet; hd.smoothed(q, weight) fills the zeros of dry"
    """
    of = dict(zip("pq", names, strict=True))
    words = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"[^"]*"|\bhd\.\w+\([^)]*\)|\b(?P<model>[pq])\b""")
    return words.sub(lambda found: of[found["model"]] if found["model"] else found[0], sentence)


def header(name: str) -> dict[str, Any]:
    """The first two keys of a JSON object: its format and version."""
    return {"format": f"hidiv.{name}", "version": VERSION}
