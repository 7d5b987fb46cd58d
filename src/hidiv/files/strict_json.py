"""JSON read strictly, with a sentence and a place for every error, and written so that floats are read back exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isinf
from typing import Any, NoReturn

from hidiv.errors import InvalidFile, refuse, sentence, shown

# Matches text in quotes, and numbers and literals.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s\[\]{},:"]+', re.DOTALL)

LARGEST = 2**1024 - 2**970  # integers below it are within the range of doubles


class _Refused(Exception):
    """Raised for a token that the grammar of JSON allows and this reader does not."""

    def __init__(self, token: str, rule: str) -> None:
        self.token, self.rule = token, rule


def parse(text: str, place: str) -> dict[str, Any]:
    """The object a JSON text holds; duplicate keys, NaN, infinities and numbers no double holds are refused."""
    try:
        described = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_literal,
        )  # fmt: skip
    except _Refused as refused:
        where = next((t.start() for t in _TOKEN.finditer(text) if t.group() == refused.token), 0)
        refuse(InvalidFile, f"{place}, line {text.count(chr(10), 0, where) + 1}", refused.rule, refused.token)
    except json.JSONDecodeError as error:
        empty = "the file is empty" if not text.strip() else f"is not JSON, {error.msg[:1].lower()}{error.msg[1:]}"
        refuse(InvalidFile, f"{place}, line {error.lineno}, column {error.colno}", shown(empty))
    except InvalidFile as error:
        raise InvalidFile(f"{place}: {error}") from None
    except RecursionError:
        too_deep(place)
    if not isinstance(described, dict):
        refuse(InvalidFile, place, "must hold a JSON object {...}", type(described).__name__)
    return described


def written(described: Mapping[str, Any]) -> str:
    """JSON text with a line for each key; floats as their shortest repr, which is read back exactly."""
    try:
        return _written(described, ascii_only=False)
    except RecursionError:
        too_deep("save")


def too_deep(place: str) -> NoReturn:
    """Refuse a text whose brackets are nested more deeply than Python's recursion limit."""
    raise InvalidFile(sentence(place, "is nested too deeply"))


def _written(described: Mapping[str, Any], ascii_only: bool) -> str:
    """JSON text, escaped to ASCII where it must be."""
    lines = []
    for key, value in described.items():
        try:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, allow_nan=False, ensure_ascii=ascii_only)}")
        except (TypeError, ValueError) as error:
            refuse(InvalidFile, key, "holds what JSON cannot", str(error))
    text = "{\n " + ",\n ".join(lines) + "\n}\n"
    if not ascii_only and not _encodes(text):
        return _written(described, ascii_only=True)  # half a surrogate pair can only be written escaped
    return text


def _encodes(text: str) -> bool:
    """Whether a text can be encoded in UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The dict of an object's pairs; repeated keys are refused."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidFile(f'the key "{shown(twice)}" is there twice in one object')
    return mapping


def _integer(token: str) -> int:
    """An integer, refused beyond the range of doubles."""
    # Python itself stops at a few thousand digits.
    if len(token) > 310 or abs(int(token)) >= LARGEST:
        raise _Refused(token, "a number beyond the range of doubles")
    return int(token)


def _number(token: str) -> float:
    """A float, refused beyond the range of doubles."""
    value = float(token)
    if isinf(value):
        raise _Refused(token, "a number beyond the range of doubles")
    return value


def _literal(token: str) -> NoReturn:
    """Refuse NaN and infinities."""
    raise _Refused(token, "must be a finite number")
