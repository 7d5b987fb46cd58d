"""The tree of models with `end` probabilities: a chain that runs until it stops by itself."""

from __future__ import annotations

from typing import Final


class UntilEnd:
    """The only value of its kind is `UNTIL_END`, given in place of a tree (definitions (3.5))."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "hd.UNTIL_END"

    def __reduce__(self) -> str:
        return "UNTIL_END"  # copies and pickles are the same object


UNTIL_END: Final = UntilEnd()
