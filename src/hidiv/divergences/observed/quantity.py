"""What an observed divergence of a pair is called, and what it is divided by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair


def subject_and_unit(pair: Pair) -> tuple[str, str | None]:
    """How sentences name the quantity, and "step" for the rate of an endless chain."""
    return (pair.subject, None) if pair.tree is not None else (f"{pair.subject} rate", "step")
