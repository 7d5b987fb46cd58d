"""CoNLL-U, Newick and CSV files of many sequences."""

from __future__ import annotations

import pytest

import hidiv as hd
from hidiv.errors import InvalidFile
from hidiv.files.conllu import conllu_from_text
from hidiv.files.sequences import read_sequences

TEXT = """# text = Let's go home .
1-2\tLet's\t_\t_\t_\t_\t_\t_\t_\t_
1\tLet\tlet\tVERB\tVB\t_\t0\troot\t_\t_
2\t's\twe\tPRON\tPRP\t_\t3\tnsubj:xsubj\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t1\txcomp\t_\t_
3.1\t_\t_\t_\t_\t_\t_\t_\t_\t_
4\thome\thome\tADV\tRB\t_\t3\tadvmod\t_\t_

# one word
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def test_sentences_are_trees():
    first, second = conllu_from_text(TEXT, "x")
    assert first.words == ["VERB", "VERB", "PRON", "ADV"]
    assert first.tree.parent.tolist() == [-1, 0, 1, 1]
    assert second == (hd.Tree([-1], labels=second.tree.labels), ["INTJ"])
    assert conllu_from_text(TEXT, "x", "deprel")[0].words == ["root", "xcomp", "nsubj", "advmod"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x: holds no sentence"),
        ("1\ta\tb\n", "x, line 1: must have 10 fields between tabs, got 3"),
        ("1\ta\ta\tX\t_\t_\t_\tdep\t_\t_\n", "x, line 1: the head must be a whole number, got _"),
        ("1\ta\ta\tX\t_\t_\t1\tdep\t_\t_\n", "x, line 1: the sentence has no word whose head is 0"),
        (
            "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t3\tdep\t_\t_\n3\tc\tc\tX\t_\t_\t2\tdep\t_\t_\n",
            "no tree",
        ),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(InvalidFile, match=said):
        conllu_from_text(text, "x")
    with pytest.raises(InvalidFile, match="column: must be form, lemma"):
        conllu_from_text(TEXT, "x", "colour")


def test_files_of_sequences(tmp_path):
    (tmp_path / "a.conllu").write_text(TEXT, encoding="utf-8")
    items, trees = read_sequences(tmp_path / "a.conllu")
    assert [len(item) for item in items] == [tree.n_nodes for tree in trees] == [4, 1]
    (tmp_path / "a.nwk").write_text("(b,c)a;\n(c)b;\n")
    assert read_sequences(tmp_path / "a.nwk")[0] == [["a", "b", "c"], ["b", "c"]]
    (tmp_path / "b.nwk").write_text("(b,)a;\n")
    with pytest.raises(InvalidFile, match="tree 1: every node must have a label"):
        read_sequences(tmp_path / "b.nwk")
    (tmp_path / "a.csv").write_text("id,word,size\nx,yes,1\ny,no,2\nx,no,3\n")
    items, trees = read_sequences(tmp_path / "a.csv", "id")
    assert [item.x.tolist() for item in items] == [[[1.0, 1.0], [0.0, 3.0]], [[0.0, 2.0]]]
    assert trees == [None, None]
    assert items[0].column_names == ("word", "size")
    with pytest.raises(InvalidFile, match="has no column 'who'; columns are id, word, size"):
        read_sequences(tmp_path / "a.csv", "who")
