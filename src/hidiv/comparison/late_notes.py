"""Notes of a result that are worked out when they are read: most callers never do, and some take long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

Notes = tuple[str, ...]


class LateNotes:
    """A field of a frozen dataclass: given as a tuple or as a function that makes one, read as a tuple."""

    @overload
    def __get__(self, result: None, owner: type) -> Notes: ...
    @overload
    def __get__(self, result: object, owner: type) -> Notes: ...
    def __get__(self, result: object | None, owner: type) -> Notes:
        if result is None:
            return ()  # the default of the field
        state = result.__dict__
        known: Notes | Callable[[], Iterable[str]] = state.get("_notes", state.get("notes", ()))
        if not isinstance(known, tuple):
            known = state["_notes"] = tuple(known())
        return known

    def __set__(self, result: object, notes: Notes | Callable[[], Iterable[str]]) -> None:
        result.__dict__["_notes"] = notes


def settled_state(result: Any) -> dict[str, Any]:
    """What a copy or a pickle of a result holds: its notes as a tuple."""
    return {**result.__dict__, "_notes": result.notes}
