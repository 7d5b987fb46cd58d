"""Symbols by name: text, categories and tables become numbers, and the names stay with the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hidiv as hd
from hidiv.errors import HidivError

BASES = hd.Categorical([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
DNA = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], BASES, symbol_names=["A", "C", "G", "T"])
UNNAMED = hd.Model(DNA.initial, DNA.transition, BASES)

GATTA = list("GATTA")


@pytest.mark.parametrize("x", [
    GATTA, np.array(GATTA), pd.Series(GATTA, name="base"), pd.DataFrame({"base": GATTA}), pd.Categorical(GATTA),
    pd.Series(GATTA).astype(pd.CategoricalDtype(["T", "G", "A"])),
])  # fmt: skip
def test_text_and_categories_are_numbers_by_the_names_of_the_model(x):
    assert hd.log_likelihood(DNA, x) == hd.log_likelihood(DNA, [2, 0, 3, 3, 0])
    assert hd.fit(x, start=DNA, max_iter=2).model.symbol_names == (("A", "C", "G", "T"),)


def test_what_is_missing_in_a_column_of_text():
    known = hd.Evidence(pd.DataFrame({"a": ["x", None, "y", np.nan, pd.NA], "b": [1, 2, 3, None, pd.NA]}))
    np.testing.assert_array_equal(known.x, [[0, 1], [np.nan, 2], [1, 3], [np.nan, np.nan], [np.nan, np.nan]])
    assert known.symbol_names == (("x", "y"), None)
    assert known.column_names == ("a", "b")
    codes = hd.Evidence(pd.Series(["u", None, "v"], dtype="category"))
    np.testing.assert_array_equal(codes.x[:, 0], [0, np.nan, 1])


def test_numbers_in_tables_stay_numbers():
    table = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": ["0.5", "nan"]})
    np.testing.assert_array_equal(hd.Evidence(table).x, [[1, 1, 0.5], [2, 0, np.nan]])
    assert hd.Evidence(table).symbol_names is None


def test_names_travel(tmp_path: Path):
    hd.save(DNA, tmp_path / "dna.json")
    again = hd.load(tmp_path / "dna.json")
    assert again == DNA
    assert again.symbol_names == DNA.relabel([1, 0]).symbol_names == (("A", "C", "G", "T"),)
    for other in (
        DNA.renamed("dna"),
        hd.as_model(DNA, name="dna"),
        hd.smoothed(DNA, 0.1),
        hd.as_model(DNA, floor=0.01),
    ):
        assert other.symbol_names == DNA.symbol_names
    assert "symbol_names" not in hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]])).to_dict()
    both = hd.Product([hd.Categorical([[0.5, 0.5]]), hd.Gaussian([0.0], std=[1.0])])
    mixed = hd.Model([1.0], [[1.0]], both, symbol_names=[["no", "yes"], None])
    assert hd.Model.from_dict(mixed.to_dict()) == mixed
    assert mixed.to_dict()["symbol_names"] == [["no", "yes"], None]


@pytest.mark.parametrize(("names", "said"), [
    (["A", "C", "G"], "symbol_names: must name the 4 symbols of categorical, got 3"),
    (["A", "C", "G", "G"], "symbol_names: must all differ"),
    ("ACGT", "symbol_names: needs the names of all symbols"),
    ([["A", "C", "G", "T"], None], "symbol_names: needs 1 entry, one a column, got 2"),
    ([[1, 2, 3, 4]], "symbol_names: needs the names of all symbols"),
])  # fmt: skip
def test_names_that_do_not_fit(names, said):
    with pytest.raises(HidivError) as caught:
        hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], BASES, symbol_names=names)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("work", "said"), [
    (lambda: hd.log_likelihood(DNA, list("GATTN")), "x: 'N' in column 0 is not a symbol of the model;"),
    (lambda: hd.log_likelihood(UNNAMED, GATTA), "x: holds text in column 0, and the model has no symbol_names"),
    (lambda: hd.Evidence(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})), "x, column 'when': holds dates"),
    (lambda: hd.Evidence(pd.DataFrame({"Unnamed: 0": [0, 1], "x": [5, 6]})), "x, column 'Unnamed: 0': numbers"),
    (lambda: hd.Evidence(pd.DataFrame({"a": ["u", 1.5]})), "x, column 'a': must hold numbers only, or text only"),
    (lambda: hd.fit(pd.DataFrame({"v": [1.0, 2], "a": ["u", "w"]}), None, 1), "evidence, column 'a': holds text"),
    (
        lambda: hd.fit(pd.DataFrame({"v": [1, 0], "a": ["u", "w"]}), None, 1, "categorical"),
        "evidence: categorical takes 1 column, got 2 (v, a)",
    ),
    (lambda: hd.fit([list("ab"), [1, 0]], None, 1, "categorical"), "evidence[1]: must hold text in the columns"),
    (lambda: hd.fit(pd.DataFrame({"v": [1.0, 2, 3]}), 2), "n_states: is needed; 2 was taken for the tree"),
])  # fmt: skip
def test_refused(work, said):
    with pytest.raises(HidivError) as caught:
        work()
    assert str(caught.value).startswith(said), str(caught.value)


def test_fits_keep_the_names_of_all_sequences():
    sequences = [list("abba"), list("acca"), list("bb")]
    found = hd.fit(sequences, None, 2, "categorical", n_init=1, seed=0).model
    assert found.symbol_names == (("a", "b", "c"),)
    numbers = [[0, 1, 1, 0], [0, 2, 2, 0], [1, 1]]
    assert hd.fit(numbers, None, 2, "categorical", n_init=1, seed=0).model.emission.probs.tolist() == (
        found.emission.probs.tolist()
    )
    stacked = pd.Series(list("abbaaccabb"))
    assert hd.fit(stacked, None, 2, "categorical", lengths=[4, 4, 2], n_init=1, seed=0).model == found
    frame = pd.DataFrame({"letter": list("abba")})
    assert hd.fit(frame, [hd.Tree.chain(4)], 1, "categorical", n_init=1).model.symbol_names == (("a", "b"),)
    unseen = pd.Series(list("aab"), dtype=pd.CategoricalDtype(["c", "b", "a"]))
    assert hd.fit(unseen, None, 1, "categorical", n_init=1).model.emission.probs.round(3).tolist() == [
        [0, 0.333, 0.667]
    ]


def test_names_that_differ_are_not_compared():
    other = hd.Model(DNA.initial, DNA.transition, DNA.emission, symbol_names=["A", "C", "G", "U"])
    for divergence in (hd.joint_kl, hd.observed_kl):
        with pytest.raises(HidivError, match="symbols"):
            divergence(DNA, other, 5)
    assert hd.joint_kl(DNA, UNNAMED, 5).value == 0


def test_a_table_without_columns_is_refused():
    with pytest.raises(HidivError, match="^x: is a table without columns; give it a column of observations$"):
        hd.log_likelihood(DNA, pd.DataFrame(index=[1, 2]))
    with pytest.raises(HidivError, match="is a table without columns"):
        hd.fit(pd.DataFrame(), None, 2, "gaussian")


def test_texts_of_numpy_are_plain_texts():
    found = hd.fit(list(np.array(["a", "b", "a"])), None, 1, "categorical", n_init=1).model
    assert [type(name) for name in found.symbol_names[0]] == [str, str]
    named = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]]), symbol_names=list(np.array(["a", "b"])))
    assert [type(name) for name in named.symbol_names[0]] == [str, str]
