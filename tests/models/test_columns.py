"""Names of columns: kept by everything that makes a model from another, and taken wherever a column is chosen."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels, InvalidModel

T = [[0.9, 0.1], [0.2, 0.8]]
NAMES = ("a", "b", "c")


def model(means=((0.0, 1.0, 2.0), (3.0, 4.0, 5.0)), names=NAMES) -> hd.Model:
    return hd.Model([0.5, 0.5], T, hd.Gaussian(means, std=np.ones((2, 3))), name="m", column_names=names)


def test_names_are_kept(tmp_path):
    m = model()
    hd.save(m, tmp_path / "m.json")
    hd.save(hd.Collection([m, m.renamed("n")]), tmp_path / "c.npz")
    same = [
        m.relabel([1, 0]),
        m.renamed("n"),
        hd.smoothed(m, 0.1),
        hd.load(tmp_path / "m.json"),
        hd.load(tmp_path / "c.npz")[1],
        hd.Model.from_dict(m.to_dict()),
        copy.deepcopy(m),
        pickle.loads(pickle.dumps(m)),
    ]
    assert [each.column_names for each in same] == [NAMES] * len(same)
    assert hd.load(tmp_path / "m.json") == m
    assert m != m.renamed("m", column_names=("x", "y", "z"))


def test_a_collection_where_one_model_has_no_names(tmp_path):
    hd.save(hd.Collection([model(), model(names=None)]), tmp_path / "c.npz")
    back = hd.load(tmp_path / "c.npz")
    assert [each.column_names for each in back] == [NAMES, None]


def test_select_by_number_and_by_name_is_the_marginal():
    m, rng = model(), np.random.default_rng(0)
    chosen = m.select(["c", 0])
    assert chosen.column_names == ("c", "a")
    x = rng.normal(size=(20, 3))
    hidden = x.copy()
    hidden[:, 1] = np.nan
    assert hd.log_likelihood(chosen, x[:, [2, 0]]) == pytest.approx(hd.log_likelihood(m, hidden), rel=1e-13)


@pytest.mark.parametrize(
    "family",
    [
        hd.Gaussian(np.arange(6.0).reshape(2, 3), cov=[np.eye(3) + 0.5] * 2),
        hd.Product([hd.Poisson([1.0, 2.0]), hd.Gaussian([0.0, 1.0], std=[1, 2]), hd.Bernoulli([0.5, 0.25])]),
        hd.Mixture([[0.5, 0.5], [0.25, 0.75]], [hd.Poisson([[1.0, 2, 3], [4, 5, 6]]), hd.Poisson(np.ones((2, 3)))]),
        hd.Bernoulli([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
    ],
    ids=lambda family: family.name,
)
def test_select_in_every_kind_of_family(family):
    m = hd.Model([0.5, 0.5], T, family, column_names=NAMES)
    _, x = hd.sample(m, 8, seed=1)
    hidden = np.array(x, dtype=float)
    hidden[:, 1] = np.nan
    chosen = m.select(["c", "a"])
    assert hd.log_likelihood(chosen, x[:, [2, 0]]) == pytest.approx(hd.log_likelihood(m, hidden), rel=1e-12)


def test_a_table_is_read_by_its_headings():
    m = model()
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 4)), columns=["b", "other", "c", "a"])
    right = hd.log_likelihood(m, table[["a", "b", "c"]].to_numpy())
    assert hd.log_likelihood(m, table) == right
    assert hd.fit(table, None, 2, n_init=1, max_iter=2, seed=0).model.column_names == ("b", "other", "c", "a")


def test_columns_at_other_places_are_refused():
    p, q = model(), model(names=("b", "a", "c"))
    message = "column_names: 'a' is column 0 of p and column 1 of q; compare p.select"
    with pytest.raises(IncompatibleModels, match=message):
        hd.joint_kl(p, q, 10)
    with pytest.raises(IncompatibleModels, match=r"'b' is column 1 of models\[0\] and column 0 of models\[1\]"):
        hd.pairwise_kl([p, q], 10)
    assert hd.joint_kl(p, q.select(NAMES), 10).value > 0
    assert hd.joint_kl(p, model(names=("x", "y", "z")), 10).value == 0  # other words for the same columns


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: model(names=("a", "b")), "column_names: needs 3 texts, one a column, got 2"),
        (lambda: model(names=("a", "b", "b")), "column_names: must all differ"),
        (lambda: model(names="abc"), "column_names: needs a list of texts, one a column, got abc"),
        (lambda: model().select("d"), "columns: has no such name, got d; its columns are a, b, c"),
        (lambda: model().select([0, "a"]), "columns: needs at least one column, each once"),
        (lambda: model().select([]), "columns: needs at least one column, each once"),
        (lambda: model().select(1.5), "columns: must be names or numbers from 0 to 2, got 1.5"),
        (lambda: model().select(None), "columns: must be names or numbers from 0 to 2"),
        (lambda: model().select(3), "columns: must be names or numbers from 0 to 2, got 3"),
        (lambda: model(names=None).select("a"), "columns: have no names in this model, got a; choose them by number"),
    ],
)  # fmt: skip
def test_bad_choices_are_refused_in_one_sentence(wrong, message):
    with pytest.raises(InvalidModel) as refused:
        wrong()
    assert message in str(refused.value)
    assert issubclass(InvalidModel, HidivError)
