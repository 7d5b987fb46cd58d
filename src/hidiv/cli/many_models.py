"""Models and their names from any number of model files and collections."""

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
QUANTITY_HELP = "joint pairs states by label; aligned and observed look at no labels, as separate fits need."


def quantity_option(*quantities: str, default: str | None = "joint") -> Callable[[Command], Command]:
    """--quantity, of these."""
    more = " posterior needs --data." if "posterior" in quantities else ""
    option: Callable[[Command], Command] = click.option(
        "--quantity", type=click.Choice(quantities), default=default, show_default=True, help=QUANTITY_HELP + more
    )
    return option


def seed_option(command: Command) -> Command:
    """--seed of the draws."""
    given = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draws.")
    return given(command)


def read_models(paths: tuple[str, ...]) -> tuple[list[Model] | Collection, list[str]]:
    """Model files (JSON; - is standard input) and collections (NPZ) in order; one collection alone stays stacked."""
    from hidiv.comparison.collection.collection import Collection
    from hidiv.files.reading import load
    from hidiv.models.model import Model

    models: list[Model] = []
    names: list[str] = []
    for path in paths:
        found: Any = read_model(path) if path == "-" else load(path)
        stem = "standard input" if path == "-" else Path(path).stem
        if isinstance(found, Collection):
            new = [name or f"{stem}[{i}]" for i, name in enumerate(found.names)]
            if len(paths) == 1:
                return found, _distinct(new)
            models += list(found)
            names += new
        elif isinstance(found, Model):
            models.append(found)
            names.append(found.name or stem)
        else:
            refuse(InvalidFile, path, "must hold a model or a collection of models", type(found).__name__)
    return models, _distinct(names)


def _distinct(names: list[str]) -> list[str]:
    """Names told apart by a number where they are the same."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told
