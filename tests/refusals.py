"""What a reader of foreign input may do: give an object, or refuse it in one sentence of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hidiv.errors import HidivError

Found = TypeVar("Found")


def found_or_refused(read: Callable[[], Found], place: str = "") -> Found | None:
    """What was read, or None after a refusal of one line that starts with the place; any other error goes through."""
    try:
        return read()
    except HidivError as error:
        sentence = str(error)
    assert sentence.startswith(place)
    assert sentence.isprintable()
    return None
