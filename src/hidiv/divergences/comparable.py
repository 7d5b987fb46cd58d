"""Whether two models can be compared, and the sentence when they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.errors import IncompatibleModels, refuse

if TYPE_CHECKING:
    from hidiv.models.model import Model


def check_same_states(p: Model, q: Model, quantity: str) -> None:
    """Joint and posterior divergences pair states by label, so their number must agree."""
    if p.n_states != q.n_states:
        refuse(
            IncompatibleModels,
            "p and q",
            f"have {p.n_states} and {q.n_states} states, so their {quantity} divergence is not defined",
            remedy="use hd.observed_kl, which does not look at states",
        )


def check_length(p: Model, q: Model, until_end: bool) -> None:
    """Models with `end` live on chains of random length, models without on a tree."""
    if (p.end is None) != (q.end is None):
        with_end, without = ("p", "q") if p.end is not None else ("q", "p")
        refuse(
            IncompatibleModels,
            "end",
            f"{with_end} has end probabilities and {without} has none",
            remedy="give both or neither an end",
        )
    if until_end and p.end is None:
        refuse(
            IncompatibleModels,
            "tree",
            "UNTIL_END needs models with end probabilities",
            remedy="give a tree, or models with end",
        )
    if not until_end and p.end is not None:
        refuse(
            IncompatibleModels,
            "tree",
            "models with end probabilities choose their own length",
            remedy="use tree=hd.UNTIL_END",
        )
