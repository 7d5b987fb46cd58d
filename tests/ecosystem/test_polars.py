"""Tables and columns of polars as evidence: numbers, missing values, text and categories, with their headings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hidiv as hd
from hidiv.errors import InvalidEvidence

T = [[0.9, 0.1], [0.2, 0.8]]


def test_a_table_of_numbers():
    table = pl.DataFrame({"speed": [0.5, None, 2.0], "turn": [1.0, 2.0, 3.0]})
    evidence = hd.Evidence(table)
    assert evidence.column_names == ("speed", "turn")
    np.testing.assert_array_equal(evidence.x, [[0.5, 1.0], [np.nan, 2.0], [2.0, 3.0]])
    model = hd.Model([0.5, 0.5], T, hd.Gaussian(np.zeros((2, 2)), std=np.ones((2, 2))), column_names=["turn", "speed"])
    assert hd.log_likelihood(model, table) == hd.log_likelihood(model, evidence.x[:, ::-1])
    assert hd.log_likelihood(model, table.lazy()) == hd.log_likelihood(model, table)


@pytest.mark.parametrize("kind", ["text", "categories", "enum"])
def test_symbols(kind):
    words = pl.Series("weather", ["wet", "dry", None, "wet"])
    column = {"text": words, "categories": words.cast(pl.Categorical), "enum": words.cast(pl.Enum(["wet", "dry"]))}[
        kind
    ]
    model = hd.Model([0.5, 0.5], T, hd.Categorical([[0.9, 0.1], [0.3, 0.7]]), symbol_names=["dry", "wet"])
    assert hd.log_likelihood(model, column) == hd.log_likelihood(model, [1, 0, np.nan, 1])


def test_a_fit_keeps_the_headings():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    assert hd.fit(table, None, 2, n_init=1, max_iter=3, seed=0).model.column_names == ("a", "b")


def test_dates_are_refused_by_name():
    table = pl.DataFrame({"day": pl.Series(["2024-01-01"]).str.to_date()})
    with pytest.raises(InvalidEvidence, match="column 'day': holds dates or times"):
        hd.Evidence(table)
