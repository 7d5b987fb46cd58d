"""Text files of other programs, word by word; files may be untrusted, so every word is checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from hidiv.adapters.foreign import TOLERANCE
from hidiv.errors import InvalidFile, refuse, shown

_NUMBER = re.compile(r"[+-]?(\d+\.?(\d*)|\.(\d+))([eE][+-]?\d+)?")
MOST_ROUNDED = 5e-3  # largest error in the sum of a law that rounding its numbers may explain
MOST_STATES = 100_000


class Token(NamedTuple):
    """A word and the number of its line."""

    text: str
    line: int


class Tokens:
    """The words of a text without # comments, taken one after the other; brackets and colons are words."""

    def __init__(self, text: str, place: str) -> None:
        self.place = place
        self.left = [
            Token(word, number)
            for number, line in enumerate(text.splitlines(), 1)
            for word in re.findall(r"[\[\]:]|[^\s\[\]:]+", line.partition("#")[0])
        ]
        self.left.reverse()

    def peek(self) -> str:
        """The next word; empty at the end."""
        return self.left[-1].text if self.left else ""

    def take(self) -> str:
        """The next word, which is removed."""
        if not self.left:
            refuse(InvalidFile, self.place, "ends too early")
        self.at = self.left.pop()
        return self.at.text

    def expect(self, *words: str) -> None:
        """Take these words; any other is refused."""
        for word in words:
            if self.take() != word:
                self.refuse(f'"{word}" is needed here', self.at.text)

    def one_of(self, words: Iterable[str], what: str) -> str:
        """Take one of several words."""
        allowed = list(words)
        word = self.take()
        if word not in allowed:
            self.refuse(f"{what} is not known", word, "known are " + ", ".join(allowed))
        return word

    def count(self, what: str, most: int = MOST_STATES, least: int = 0) -> int:
        """Take a whole number."""
        word = self.take()
        if not (word.isascii() and word.isdecimal() and len(word) < 10 and least <= int(word) <= most):
            self.refuse(f"{what} must be a whole number from {least} to {most}", word)
        return int(word)

    def number(self, what: str) -> float:
        """Take a finite number."""
        word = self.take()
        if not _NUMBER.fullmatch(word) or not np.isfinite(float(word)):
            self.refuse(f"{what} must be a finite number", word)
        return float(word)

    def numbers(self, what: str, count: int) -> list[float]:
        """Take `count` finite numbers."""
        return [self.number(what) for _ in range(count)]

    def bracketed(self, what: str) -> list[float]:
        """Take numbers in brackets, [ ... ]."""
        self.expect("[")
        values = []
        while self.peek() != "]":
            values.append(self.number(what))
        self.expect("]")
        return values

    def law(self, what: str, count: int) -> list[float]:
        """Take `count` probabilities that sum to one up to the rounding of the digits written."""
        ahead = [token.text for token in self.left[: -count - 1 : -1]]
        return self.rescaled(what, self.numbers(what, count), ahead)

    def bracketed_law(self, what: str) -> list[float]:
        """Take probabilities in brackets, [ ... ]."""
        ahead = []
        for token in reversed(self.left[:-1]):
            if token.text == "]":
                break
            ahead.append(token.text)
        return self.rescaled(what, self.bracketed(what), ahead)

    def rescaled(self, what: str, values: Sequence[float], written: Sequence[str]) -> list[float]:
        """The law rescaled to sum to one; the sum may be off by half a unit of the last digit of every number."""
        if not values or min(values) < 0:
            self.refuse(f"{what} must be probabilities, none negative", list(values))
        allowed = min(max(TOLERANCE, sum(_half_unit(word) for word in written)), MOST_ROUNDED)
        total = float(np.sum(values))
        if abs(total - 1.0) > allowed:
            self.refuse(f"{what} must sum to 1 within {allowed:.1g}, as rounded there", total)
        # Laws that sum to one up to rounding stay as written.
        return list(values) if abs(total - 1.0) < 1e-14 * len(values) else [value / total for value in values]

    def finish(self) -> None:
        """Refuse any words that are left."""
        if self.left:
            self.take()
            self.refuse("nothing more is expected", self.at.text)

    def refuse(self, rule: str, value: object, remedy: str = "") -> NoReturn:
        """Refuse the word taken last; the message names its line."""
        refuse(InvalidFile, f"{shown(self.place)}, line {self.at.line}", rule, value, remedy)


def _half_unit(word: str) -> float:
    """Half a unit of the last digit of a number as it was written: 0.25 -> 0.005."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return 0.0
    digits = len(match.group(2) or match.group(3) or "")
    exponent = int((match.group(4) or "e0")[1:])
    return 0.0 if abs(exponent) > 300 else 0.5 * 10.0 ** min(exponent - digits, 0)
