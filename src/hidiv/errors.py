"""The errors that hidiv raises, and the form of their messages: place, rule, value, remedy."""

from __future__ import annotations

import re
from typing import NoReturn

LONGEST = 80  # characters of a value in a message


class HidivError(ValueError):
    """The base of all errors that hidiv raises; a ValueError.

    The message is one sentence for the user: the place, the rule it breaks, the value and a remedy. The kinds of errors
    are in `hidiv.errors`.

    Examples
    --------
    >>> import hidiv as hd
    >>> try:
    ...     hd.Model([0.5, 0.6], [[0.9, 0.1], [0.2, 0.8]], hd.Silent(2))
    ... except hd.HidivError as error:
    ...     print(error)
    initial: probabilities must sum to 1 within 1e-08, got 1.1; rescale them
    """


class InvalidModel(HidivError):
    """A model, or one of its emission families, is not valid."""


class InvalidTree(HidivError):
    """A tree is not valid."""


class InvalidEvidence(HidivError):
    """Evidence is not valid, or does not fit the model or the tree."""


class IncompatibleModels(HidivError):
    """Two models, or a model and a tree, do not fit each other."""


class ImpossibleEvidence(HidivError):
    """A model gives the evidence probability zero."""


class InvalidFile(HidivError):
    """A file cannot be read or written, or does not hold what it should."""


class OutOfRange(HidivError):
    """A result is finite but beyond the range of doubles."""


class MissingExtra(HidivError):
    """An optional library is not installed."""


def refuse(error: type[HidivError], place: str, rule: str, value: object = None, remedy: str = "") -> NoReturn:
    """Raise `error` with a message of the form "place: rule, got value; remedy"."""
    raise error(sentence(place, rule, value, remedy))


def sentence(place: str, rule: str, value: object = None, remedy: str = "") -> str:
    """The text "place: rule, got value; remedy" without the parts that are not given; long values are shortened."""
    got = "" if value is None else f", got {shown(value)}"
    then = f"; {remedy}" if remedy else ""
    return f"{place}: {rule}{got}{then}"


def shown(value: object) -> str:
    """A value for a message: at most 80 characters on one line, without control characters."""
    text = value if isinstance(value, str) else _written(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONGEST else _shortened(text)


def counted(number: float | str, what: str, many: str = "") -> str:
    """A number with its noun, singular for 1; `many` is the plural of words that take more than an s.

    A number already written as text is kept as written.

    >>> counted(1, "state"), counted(0, "state"), counted(2, "family", "families"), counted("0.3", "node")
    ('1 state', '0 states', '2 families', '0.3 nodes')
    """
    return f"{number} {what}" if number in (1, "1") else f"{number} {many or what + 's'}"


def _shortened(text: str) -> str:
    """The text without its middle, cut between words or parts of a path; the end of a path matters most."""
    pieces = re.findall(r"[^\s/\\,]*[\s/\\,]+|[^\s/\\,]+", text)
    tail = pieces.pop()
    if len(tail) > LONGEST - 4:  # a word that would fill the message
        return text[:38] + "..." + text[-39:]
    while len(tail) + len(pieces[-1]) <= LONGEST // 2 - 4:
        tail = pieces.pop() + tail
    head = ""
    while len(head) + len(pieces[0]) + len(tail) <= LONGEST - 4:
        head += pieces.pop(0)
    return f"{head}...{pieces[-1][-1]}{tail}"


def _written(value: object) -> str:
    """The repr, of an array with one entry that of the number; values without a repr are named by their type."""
    try:
        return repr(value.item() if hasattr(value, "item") and getattr(value, "size", 2) == 1 else value)
    except (ValueError, RecursionError):  # integers of thousands of digits, lists thousands deep
        return f"some {type(value).__name__} too long to show"
