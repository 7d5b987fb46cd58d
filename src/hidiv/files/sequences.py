"""Files of many sequences or trees: CSV with a column that tells them apart, CoNLL-U, and lines of Newick."""

from __future__ import annotations

import os
from typing import Any

from hidiv.errors import InvalidFile, refuse
from hidiv.files.conllu import read_conllu
from hidiv.files.csv_values import Values, read_values
from hidiv.files.disk import Path, checked_path, opened, read_limited
from hidiv.files.loading import decoded

TREEBANKS = (".conllu", ".conll")
NEWICK = (".nwk", ".newick", ".tree")


def read_sequences(path: Path, sequence: str | None = None, column: str = "upos") -> tuple[list[Any], list[Any]]:
    """The sequences of a file and their trees, None for chains.

    A CSV file is one chain, or one for each value of the column `sequence`; every sentence of a CoNLL-U file is a tree
    of the words in `column`; every line of a Newick file is a tree whose labels are its symbols.
    """
    place = checked_path(path)
    kind = os.path.splitext(place)[1].lower()
    if kind in TREEBANKS:
        sentences = read_conllu(place, column)
        return [each.words for each in sentences], [each.tree for each in sentences]
    if kind in NEWICK:
        return _newick(place)
    values = read_values(place)
    items = [values.evidence] if sequence is None else list(split_by(values, sequence, place).values())
    return items, [None] * len(items)


def _newick(place: str) -> tuple[list[Any], list[Any]]:
    from hidiv.models.tree import Tree

    with opened(place) as file:
        lines = decoded(read_limited(file, place), place).splitlines()
    trees = [Tree.from_newick(line) for line in lines if line.strip()]
    if not trees:
        refuse(InvalidFile, place, "holds no tree")
    words = []
    for i, tree in enumerate(trees):
        labels = tree.labels
        if labels is None or not all(isinstance(label, str) and label for label in labels):
            refuse(InvalidFile, f"{place}, tree {i + 1}", "every node must have a label, which is its symbol")
        words.append([str(label) for label in labels])
    return words, trees


def split_by(values: Values, heading: str, place: str) -> dict[str, Any]:
    """Value of a column -> the evidence of the rows that have it, without that column, in the order of the file."""
    import numpy as np

    from hidiv.models.evidence import Evidence

    if heading not in values.used:
        refuse(InvalidFile, place, f"has no column {heading!r}", remedy=f"columns are {', '.join(values.used)}")
    at = values.used.index(heading)
    known = values.evidence
    rest = [i for i in range(known.n_features) if i != at]
    if not rest:
        refuse(InvalidFile, place, f"holds nothing beside the column {heading!r}")
    names = known.symbol_names
    own = None if names is None else names[at]
    labels = known.x[:, at]
    if np.isnan(labels).any():
        line = int(np.argmax(np.isnan(labels)))
        refuse(InvalidFile, f"{place}, row {line + 1}", f"the column {heading!r} is empty")
    symbols = None if names is None else tuple(names[i] for i in rest)
    if symbols is not None and all(each is None for each in symbols):
        symbols = None
    headings = None if known.column_names is None else tuple(known.column_names[i] for i in rest)
    sets = {}
    for label in dict.fromkeys(labels.tolist()):
        name = own[int(label)] if own is not None else f"{label:g}"
        sets[name] = Evidence.named(known.x[labels == label][:, rest], symbols, headings)
    return sets
