"""`hd.fit_many`: one model a data set, failures told, work resumed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hidiv as hd
from hidiv.answers import fit_many as module
from hidiv.errors import HidivError, InvalidEvidence

DATA = {"a": [0, 1, 0, 2], "b": [5, 7, 4, 6], "c": [[1, 1, 0], [2, 3]]}
HOW = {"n_init": 1, "seed": 0}


def test_each_is_the_fit_of_its_data():
    found = hd.fit_many(DATA, None, 1, "poisson", **HOW)
    assert found.names == ("a", "b", "c")
    assert [float(model.emission.rate[0]) for model in found] == pytest.approx([0.75, 5.5, 1.4])
    assert found.fits["a"].log_likelihood == pytest.approx(hd.log_likelihood(found[0], DATA["a"]))
    assert isinstance(found, hd.Collection)
    assert hd.fit_many(list(DATA.values()), None, 1, "poisson", **HOW).names == ("0", "1", "2")


def test_failures_are_told_and_stop_nothing():
    found = hd.fit_many({**DATA, "bad": [-1, 2], "wide": [[1, 2], [3, 4]] * 2}, None, 1, "poisson", **HOW)
    assert len(found) == 4
    assert found.failures["bad"] == "x[0]: poisson observations are whole numbers from 0, got -1.0"
    assert "1 data set failed (bad: " in repr(found)
    with pytest.raises(HidivError, match=r"datasets\['x'\]: none of 1 data set could be fitted: "):
        hd.fit_many({"x": [-1]}, None, 1, "poisson", **HOW)


def test_a_table_by_a_column():
    table = pd.DataFrame({"who": ["x"] * 3 + ["y"] * 3, "count": [0, 1, 2, 5, 6, 7]})
    found = hd.fit_many(table, None, 1, "poisson", by="who", **HOW)
    assert found.names == ("x", "y")
    with pytest.raises(HidivError, match="by: must name the column of the table .* columns are who, count"):
        hd.fit_many(table, None, 1, "poisson", by="when", **HOW)


def test_text_has_one_alphabet():
    found = hd.fit_many({"a": [list("abba"), list("ab")], "b": list("acca")}, None, 1, "categorical", **HOW)
    assert {model.symbol_names for model in found} == {(("a", "b", "c"),)}
    np.testing.assert_allclose(found[1].emission.probs, [[0.5, 0.0, 0.5]])


def test_finished_fits_are_kept(tmp_path, monkeypatch):
    first = hd.fit_many(DATA, None, 1, "poisson", store=tmp_path, **HOW)
    assert len(list(tmp_path.glob("fit-*.json"))) == 3
    asked = []
    monkeypatch.setattr(module, "fit", lambda *args, **kwargs: asked.append(args) or hd.fit(*args, **kwargs))
    again = hd.fit_many({**DATA, "d": [3, 3]}, None, 1, "poisson", store=tmp_path, **HOW)
    assert len(asked) == 1
    assert again[:3] == first[:3]
    hd.fit_many(DATA, None, 1, "poisson", store=tmp_path, n_init=1, seed=0, tol=1e-3)
    assert len(asked) == 4


def test_an_interrupt_loses_nothing(tmp_path, monkeypatch):
    def stopped(part, *args, **kwargs):
        if part.n_nodes == 5:
            raise KeyboardInterrupt
        return hd.fit(part, *args, **kwargs)

    monkeypatch.setattr(module, "fit", stopped)
    found = hd.fit_many(DATA, None, 1, "poisson", executor="serial", store=tmp_path, **HOW)
    assert found.names == ("a", "b")
    assert found.failures == {"c": "interrupted"}


def test_it_is_saved(tmp_path):
    found = hd.fit_many(DATA, None, 1, "poisson", **HOW)
    found.save(tmp_path / "m.npz")
    assert hd.load(tmp_path / "m.npz") == hd.Collection(list(found))


def test_trees_of_each():
    tree = hd.Tree([-1, 0, 0])
    found = hd.fit_many({"a": [1, 2, 3], "b": [[1, 2, 3]] * 2}, {"a": tree, "b": tree}, 1, "poisson", **HOW)
    assert len(found) == 2
    with pytest.raises(HidivError, match="tree: must be one tree, or one for each of the 2 data sets, got 1"):
        hd.fit_many({"a": [1], "b": [1]}, [tree], 1, "poisson")


def test_what_is_refused():
    with pytest.raises(InvalidEvidence, match="datasets: must not be empty"):
        hd.fit_many({}, None, 1, "poisson")
    with pytest.raises(HidivError, match="datasets: must be a dict, a list or a DataFrame"):
        hd.fit_many("abc", None, 1, "poisson")
