"""Sentences of CoNLL-U files as trees: every word below its head, one column of each word as its symbol."""

from __future__ import annotations

from typing import NamedTuple

from hidiv.errors import InvalidFile, InvalidTree, refuse
from hidiv.files.disk import Path, checked_path, opened, read_limited
from hidiv.files.loading import decoded
from hidiv.models.tree import Tree

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class Sentence(NamedTuple):
    """The tree of a sentence, and the symbol of each of its nodes."""

    tree: Tree
    words: list[str]


def read_conllu(path: Path, column: str = "upos") -> list[Sentence]:
    """Read the sentences of a CoNLL-U file as trees.

    Parameters
    ----------
    path : str or path-like
        The file, as the Universal Dependencies treebanks have them.
    column : str, default "upos"
        Which column is the symbol of a word: "form", "lemma", "upos", "xpos", "feats" or "deprel"; "deprel" without
        what follows a colon.

    Returns
    -------
    list of Sentence
        (tree, words) of every sentence: the word whose head is 0 is the root, and words are in the order of the nodes.

    Raises
    ------
    InvalidFile
        Where a line is not CoNLL-U, or heads make no tree; the message names the line.

    Examples
    --------
    >>> import os, tempfile
    >>> import hidiv as hd
    >>> lines = ["1 she she PRON _ _ 2 nsubj _ _", "2 sings sing VERB _ _ 0 root _ _"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "one.conllu")
    ...     with open(path, "w") as file:
    ...         _ = file.write("\\n".join(line.replace(" ", "\\t") for line in lines))
    ...     sentence, = hd.read_conllu(path)
    >>> sentence.words, sentence.tree.parent.tolist()
    (['VERB', 'PRON'], [-1, 0])
    """
    place = checked_path(path)
    with opened(place) as file:
        return conllu_from_text(decoded(read_limited(file, place), place), place, column)


def conllu_from_text(text: str, place: str, column: str = "upos") -> list[Sentence]:
    """The sentences of a CoNLL-U text."""
    if column not in COLUMNS[1:6] and column != "deprel":
        refuse(InvalidFile, "column", "must be form, lemma, upos, xpos, feats or deprel", column)
    sentences, block = [], []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            block.append((number, line.split("\t")))
        elif block:
            sentences.append(_sentence(block, place, COLUMNS.index(column)))
            block = []
    if not sentences:
        refuse(InvalidFile, place, "holds no sentence")
    return sentences


def _sentence(block: list[tuple[int, list[str]]], place: str, column: int) -> Sentence:
    words, edges, root = {}, [], None
    for number, fields in block:
        if len(fields) != len(COLUMNS):
            refuse(InvalidFile, f"{place}, line {number}", "must have 10 fields between tabs", len(fields))
        identity, head = fields[0], fields[6]
        if not identity.isdecimal():  # several words written as one, and words that are not written
            continue
        if not head.isdecimal():
            refuse(InvalidFile, f"{place}, line {number}", "the head must be a whole number", head)
        words[int(identity)] = fields[column].partition(":")[0] if column == 7 else fields[column]
        if int(head) == 0:
            root = int(identity)
        else:
            edges.append((int(head), int(identity)))
    first = block[0][0]
    if root is None:
        refuse(InvalidFile, f"{place}, line {first}", "the sentence has no word whose head is 0")
    try:
        tree = Tree.from_edges(edges, root)
    except InvalidTree as error:
        refuse(InvalidFile, f"{place}, line {first}", f"heads make no tree: {error}")
    labels = tree.labels or (root,)
    return Sentence(tree, [words[int(str(label))] for label in labels])
