"""The tree of models with `end` probabilities: a chain that runs until it stops by itself."""

from __future__ import annotations

from typing import Final


class UntilEnd:
    """The type of `UNTIL_END`, given in place of a tree for chains that stop by themselves (definitions (3.5))."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "hd.UNTIL_END"

    def __reduce__(self) -> str:
        return "UNTIL_END"  # copies and pickles are the same object


UNTIL_END: Final = UntilEnd()
