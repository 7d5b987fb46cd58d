"""Options and reading of commands that take many models: model files and collections, in any number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hidiv.cli.inputs import read_model
from hidiv.errors import InvalidFile, refuse

if TYPE_CHECKING:
    from hidiv.comparison.collection.collection import Collection
    from hidiv.models.model import Model

Command = TypeVar("Command", bound=Callable[..., Any])
QUANTITY_HELP = (
    "joint pairs states by label; aligned and observed do not depend on labels, which suits models fitted separately."
)


def quantity_option(*quantities: str, default: str | None = "joint") -> Callable[[Command], Command]:
    """The option --quantity with these choices."""
    more = " posterior needs --data." if "posterior" in quantities else ""
    option: Callable[[Command], Command] = click.option(
        "--quantity", type=click.Choice(quantities), default=default, show_default=True, help=QUANTITY_HELP + more
    )
    return option


def measure_option(*more: str) -> Callable[[Command], Command]:
    """The option --measure: measures by name, and `more` before them."""
    from hidiv.divergences.measures.names import MEASURES

    option: Callable[[Command], Command] = click.option(
        "--measure", type=click.Choice([*more, *MEASURES]), metavar="NAME", help="Compare by this measure: " +
        ", ".join([*more, *MEASURES]) + ".",
    )  # fmt: skip
    return option


def seed_option(command: Command) -> Command:
    """The option --seed."""
    option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draws.")
    return option(command)


def read_models(paths: tuple[str, ...]) -> tuple[list[Model] | Collection, list[str]]:
    """The models of all files in order, and their names; a single collection (NPZ) stays a collection.

    `-` is a model file (JSON) on standard input.
    """
    from hidiv.comparison.collection.collection import Collection
    from hidiv.files.loading import load
    from hidiv.models.model import Model

    models: list[Model] = []
    names: list[str] = []
    for path in paths:
        content: Any = read_model(path) if path == "-" else load(path)
        stem = "standard input" if path == "-" else Path(path).stem
        if isinstance(content, Collection):
            new = [name or f"{stem}[{i}]" for i, name in enumerate(content.names)]
            if len(paths) == 1:
                return content, _distinct(new)
            models += list(content)
            names += new
        elif isinstance(content, Model):
            models.append(content)
            names.append(content.name or stem)
        else:
            refuse(InvalidFile, path, "must hold a model or a collection of models", type(content).__name__)
    return models, _distinct(names)


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number added to those that occur before."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct
