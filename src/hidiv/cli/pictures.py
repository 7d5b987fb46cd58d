"""Plots that commands save as files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from hidiv.errors import InvalidFile, refuse, shown

KINDS = ("png", "svg", "pdf")


def check_picture(path: str) -> str:
    """The format a file name asks for; refuses other names and places that cannot be written, before any work."""
    from hidiv.files.disk import check_target

    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        refuse(InvalidFile, shown(path), "the name of a picture must end with .png, .svg or .pdf")
    check_target(path)
    return kind


def save_picture(axes: Any, path: str) -> None:
    """Save the figure of these axes as a file."""
    from hidiv.files.disk import replace_file

    replace_file(path, partial(axes.figure.savefig, format=check_picture(path), bbox_inches="tight"))
