"""A matrix of divergences as an array, a table, a file."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, InvalidFile
from tests.comparison.many import model


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    return hd.pairwise_kl([model(rng, name=name) for name in ("a", None, "c")], 10)


def test_arithmetic_gives_arrays(matrix):
    plain = np.asarray(matrix)
    for found, expected in (
        (-matrix, -plain), (2 - matrix, 2 - plain), (matrix - 2, plain - 2), (1 / (1 + matrix), 1 / (1 + plain)),
        (matrix**2, plain**2), (abs(matrix), abs(plain)), (np.exp(-matrix), np.exp(-plain)),
        (matrix + matrix, plain + plain), (plain + matrix, plain + plain), (matrix @ plain, plain @ plain),
        (np.maximum(matrix, 1.0), np.maximum(plain, 1.0)), (matrix // 2, plain // 2), (matrix.T, plain.T),
        (np.add.reduce(matrix), plain.sum(axis=0)), (matrix > 1, plain > 1), (matrix == matrix, plain == plain),
        (matrix + matrix.T, plain + plain.T), (matrix.sum(axis=1), plain.sum(axis=1)),
    ):  # fmt: skip
        assert isinstance(found, np.ndarray)
        assert (found == expected).all()
    assert [row.shape for row in matrix] == [(3,)] * 3


def test_arithmetic_in_place_gives_arrays_too(matrix):
    plain, changed = np.asarray(matrix), matrix
    changed += 1
    changed *= 2
    assert isinstance(changed, np.ndarray)
    assert (changed == 2 * (plain + 1)).all()
    assert (np.asarray(matrix) == plain).all()
    total = np.zeros_like(plain)
    total += matrix
    assert (total == plain).all()


def test_copies_say_the_same(matrix):
    for other in (pickle.loads(pickle.dumps(matrix)), copy.copy(matrix), copy.deepcopy(matrix)):
        assert (other == matrix).all()
        assert repr(other) == repr(matrix)
        assert (other.names, other.notes) == (matrix.names, matrix.notes)


def test_frames(matrix):
    import pandas

    frame = matrix.to_frame()
    assert list(frame.index) == list(frame.columns) == ["a", "1", "c"]
    assert frame.loc["a", "c"] == matrix[0, 2]
    assert (pandas.DataFrame(matrix).to_numpy() == np.asarray(matrix)).all()


def test_condensed_is_what_scipy_takes(matrix):
    from scipy.spatial.distance import squareform

    plain = np.asarray(matrix)
    assert (squareform(matrix.condensed()) == plain + plain.T).all()
    rng = np.random.default_rng(1)
    ms = [model(rng) for _ in range(3)]
    both = hd.pairwise_kl(ms, 10, symmetric=True)
    assert (squareform(both.condensed()) == np.asarray(both)).all()
    with pytest.raises(HidivError, match="condensed: needs a square matrix"):
        hd.pairwise_kl(ms[:1], 10, ms[1:]).condensed()


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_files_give_it_back(matrix, ending, tmp_path):
    rng = np.random.default_rng(2)
    holes = hd.Categorical([[1.0, 0, 0, 0]] * 3)
    ms = [model(rng, name="x"), hd.Model([1 / 3] * 3, np.full((3, 3), 1 / 3), holes)]
    estimated = hd.pairwise_kl(ms[:1], 4, [model(rng, k=2), model(rng, name="y")], quantity="observed", samples=9)
    for one in (matrix, hd.pairwise_kl(ms, 5), estimated):
        path = tmp_path / f"matrix.{ending}"
        hd.save(one, path)
        found = hd.load(path)
        assert repr(found) == repr(one)
        assert (found == one).all()
        assert (found.names, found.other_names, found.notes) == (one.names, one.other_names, one.notes)
        if one.std_error is not None:
            assert (found.std_error == one.std_error).all()


def test_damaged_files_are_refused_in_a_sentence(matrix, tmp_path):
    path = tmp_path / "matrix.json"
    hd.save(matrix, path)
    kept = json.loads(path.read_text())
    for changed, sentence in (
        ({"quantity": "all"}, "quantity: must be one of joint, aligned"),
        ({"matrix": [[0.0, "a"]]}, "matrix: must be rows of numbers"),
        ({"matrix": [[0.0, 1.0], [1.0, 0.0]]}, "matrix: must have a row and a column for every name"),
        ({"unit": "dits"}, "unit: must be nats or bits"),
        ({"std_error": [[1.0]]}, "std_error: must have the shape of the matrix"),
        ({"status": None}, "status: is missing"),
    ):
        path.write_text(json.dumps(kept | changed))
        with pytest.raises(InvalidFile) as caught:
            hd.load(path)
        assert sentence in str(caught.value)


def test_progress_may_be_a_line_on_the_terminal(capsys):
    rng = np.random.default_rng(3)
    ms = [model(rng) for _ in range(3)]
    assert (np.asarray(hd.pairwise_kl(ms, 5, progress=True)) == np.asarray(hd.pairwise_kl(ms, 5))).all()
    assert "all pairs [" in capsys.readouterr().err  # a notebook is no terminal, and shows it
    hd.nearest(ms, ms, 5, 1, progress=True)
    assert "nearest models [########################] 9 of 9 pairs" in capsys.readouterr().err
    calls = []
    hd.nearest(ms, ms, 5, 1, progress=lambda *at: calls.append(at))
    assert calls == [(9, 9)]
    hd.pairwise_kl(ms, 5, quantity="observed", progress=True)
    said = capsys.readouterr().err
    assert said.index("upper bounds [") < said.index("checking the approximation [") < said.index("all pairs [")
    calls.clear()
    hd.pairwise_kl(ms, 5, quantity="observed", progress=lambda *at: calls.append(at))
    assert len({total for _, total in calls}) == 1  # blocks alone are counted
