"""Options that commands share, and how models, trees and data are read; `-` is standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from hidiv.errors import IncompatibleModels, InvalidFile, InvalidTree, counted, refuse, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hidiv.files.csv_values import Values
    from hidiv.models.evidence import Evidence
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree
    from hidiv.models.until_end import UntilEnd

FILE = click.Path(allow_dash=True)  # for completion in shells; errors are reported when it is read

FORMS = {"chain:": "chain:N, a chain of N nodes", "regular:": "regular:CxN, C children a node and N levels"}


def _trees(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions of --tree: its two forms, and files where it could be one."""
    forms = [CompletionItem(form, help=words) for form, words in FORMS.items() if form.startswith(incomplete)]
    return forms if forms and incomplete else [*forms, CompletionItem(incomplete, type="file")]


tree_option = click.option(
    "--tree",
    "tree_text",
    metavar="TREE",
    shell_complete=_trees,
    help="chain:N, regular:CxN or a tree file (- is standard input).",
)
columns_option = click.option(
    "--columns",
    metavar="NAMES",
    help="Compare these columns alone, commas between them; 'common' takes all that both models have.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
data_option = click.option(
    "--data",
    required=True,
    type=FILE,
    metavar="X.csv",
    help="Observations as CSV: a row for each node, a column for each feature, empty where missing.",
)
montecarlo_option = click.option(
    "--montecarlo",
    type=click.IntRange(min=2),
    metavar="N",
    help="Add a Monte Carlo estimate from N draws.",
)
unit_option = click.option(
    "--unit", type=click.Choice(["nats", "bits"]), default="nats", show_default=True, help="Unit of the divergences."
)


STDIN = "hidiv.standard_input"  # key in the metadata of the context: what standard input was read for


def standard_input(what: str) -> str:
    """All of standard input, for the one argument given as '-'; refuses to read it twice."""
    from hidiv.files.loading import decoded

    meta = click.get_current_context().find_root().meta
    if STDIN in meta:
        refuse(InvalidFile, what, f"standard input was read already, for {meta[STDIN]}", "-", "give one of them a file")
    meta[STDIN] = what
    return decoded(sys.stdin.buffer.read(), "standard input")


def read_model(path: str) -> Model:
    """The model in a file, or on standard input for '-'."""
    from hidiv.files.formats import model_from_text
    from hidiv.files.loading import load_model

    return model_from_text(standard_input("the model"), "standard input") if path == "-" else load_model(path)


def _alike(own: Sequence[str], other: Sequence[str]) -> str:
    """A hint where names of columns differ in upper and lower case alone."""
    lower = {name.lower(): name for name in other if name not in own}
    pairs = [(name, lower[name.lower()]) for name in own if name not in other and name.lower() in lower]
    if not pairs:
        return ""
    others = f"; the same holds for {counted(len(pairs) - 1, 'other pair')}" if len(pairs) > 1 else ""
    return f" ({pairs[0][0]} and {pairs[0][1]} differ only in case{others})"


def read_pair(first: str, second: str, columns: str | None) -> tuple[Model, Model]:
    """Two models from files, with the columns of --columns; columns in another order are refused without it.

    A model without a name is named after its file.
    """
    p, q = (_named(read_model(path), path) for path in (first, second))
    own, other = p.column_names or (), q.column_names or ()
    common = [name for name in own if name in other]
    if columns is None:
        if any(own.index(name) != other.index(name) for name in common):
            how = "come in different orders" if set(own) == set(other) else "are not the same"
            remedy = f"--columns common compares the {counted(len(common), 'column')} that both have"
            rule = f"the columns of {first} and {second} {how}{_alike(own, other)}"
            refuse(IncompatibleModels, "--columns", rule, remedy=remedy)
        return p, q
    if not common:
        refuse(IncompatibleModels, "--columns", "needs models with names for their columns, some of them in both")
    names = common if columns == "common" else columns.split(",")
    return p.select(names), q.select(names)


def _named(model: Model, path: str) -> Model:
    """The model, named after its file if it has no name."""
    if model.name is not None or path == "-":
        return model
    return type(model).from_dict(model.to_dict() | {"name": Path(path).stem})


def read_tree(text: str) -> Tree:
    """The tree of chain:N, regular:CxN, a tree file, or standard input for '-'."""
    from hidiv.files.formats import tree_from_text
    from hidiv.files.loading import load_tree
    from hidiv.models.tree import Tree

    if "," in text and not os.path.exists(text):
        refuse(InvalidTree, "--tree", "must be one tree here", text, "hidiv compare takes several")
    kind, colon, size = text.partition(":")
    if kind == "chain" and colon:
        return Tree.chain(_whole(text, size))
    if kind == "regular" and colon:
        children, cross, depth = size.partition("x")
        if not cross:
            refuse(InvalidTree, f"--tree {text}", "a regular tree is written regular:CxN, C children and N levels")
        return Tree.regular(_whole(text, children), _whole(text, depth))
    if colon and not os.path.exists(text):
        refuse(InvalidTree, f"--tree {text}", "must be chain:N, regular:CxN or a tree file")
    return tree_from_text(standard_input("the tree"), "standard input") if text == "-" else load_tree(text)


def read_trees_for(text: str | None, *models: Model) -> Tree | list[Tree] | UntilEnd:
    """The tree asked for, or several with commas between them."""
    if text is not None and "," in text and not os.path.exists(text):
        return [read_tree(one) for one in text.split(",")]
    return read_tree_for(text, *models)


def read_tree_for(text: str | None, *models: Model) -> Tree | UntilEnd:
    """The tree asked for; models with end probabilities need none, their chains run until they end."""
    from hidiv.models.until_end import UNTIL_END

    if text is not None:
        return read_tree(text)
    if all(model.end is not None for model in models):
        return UNTIL_END
    refuse(InvalidTree, "--tree", "is needed to know how long the models run", remedy="for example --tree chain:100")


def read_tree_or_none(text: str | None) -> Tree | None:
    """The tree asked for, or None if --tree was not given, so that the data imply it."""
    return None if text is None else read_tree(text)


def read_data(path: str) -> NDArray[np.float64] | Evidence:
    """Observations (n, F) from a CSV file or standard input ('-'): numbers, or evidence if the symbols have names."""
    known = read_values_of(path).evidence
    return known.x if known.symbol_names is None else known


def read_values_of(path: str) -> Values:
    """The same, with the names of the columns."""
    from hidiv.files.csv_values import read_values, values_from_text

    return values_from_text(standard_input("the data"), "standard input") if path == "-" else read_values(path)


def _whole(text: str, number: str) -> int:
    """A size in --tree."""
    if not number.isdecimal():
        refuse(InvalidTree, f"--tree {text}", "sizes are whole numbers", number or "nothing")
    if len(number) > 30:
        refuse(InvalidTree, f"--tree {shown(text)}", "sizes have 30 digits at most", f"{len(number)} digits")
    return int(number)
