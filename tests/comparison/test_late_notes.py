"""Notes that are worked out when they are read, and lists of like models that are read in passes."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import hidiv as hd
from hidiv.comparison.collection.by_shape import by_shape
from hidiv.comparison.pairwise import label_note
from hidiv.types import Array


def separate_fits(n: int) -> list[hd.Model]:
    """Models of much the same process whose states are numbered by chance."""
    rng = np.random.default_rng(0)
    models = []
    for i in range(n):
        order = [0, 1, 2] if i % 2 else [2, 0, 1]
        rows = 0.8 * np.eye(3) + 0.2 * rng.dirichlet(np.ones(3), 3)
        models.append(
            hd.Model(np.full(3, 1 / 3), rows, hd.Poisson((np.array([1.0, 6.0, 30.0]) + rng.random(3))[order]))
        )
    return models


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every time that the labels were looked at."""
    times: list[int] = []
    real = label_note.assigned_joint

    def counted(*arguments: Any) -> Array:
        times.append(1)
        return real(*arguments)

    monkeypatch.setattr(label_note, "assigned_joint", counted)
    return times


@pytest.mark.parametrize("ask", [lambda m: hd.pairwise_kl(m, 50), lambda m: hd.nearest(m[0], m[1:], 50, k=2)])
def test_labels_are_looked_at_once_and_when_notes_are_read(ask, asked):
    result = ask(separate_fits(12))
    assert asked == []
    assert any("in another order" in note for note in result.notes)
    assert result.notes == result.notes
    assert isinstance(result.notes, tuple)
    assert asked == [1]


def test_what_changes_later_does_not_show_in_the_note():
    models = separate_fits(12)
    wanted, matrix = hd.pairwise_kl(models, 50).notes, hd.pairwise_kl(models, 50)
    matrix.values[:] = 0.0
    models.clear()
    assert matrix.notes == wanted


@pytest.mark.parametrize("ask", [lambda m: hd.pairwise_kl(m, 50), lambda m: hd.nearest(m[0], m, 50, k=2)])
def test_a_result_keeps_no_collection_alive(ask):
    models = hd.Collection(separate_fits(40))
    alive, wanted, result = weakref.ref(models), ask(models).notes, ask(models)
    del models
    gc.collect()
    assert alive() is None
    assert result.notes == wanted


def test_copies_and_pickles_have_the_notes():
    matrix = hd.pairwise_kl(separate_fits(8), 50)
    copies = [copy.copy(matrix), copy.deepcopy(matrix), pickle.loads(pickle.dumps(matrix))]
    assert matrix.notes
    assert all(each.notes == matrix.notes for each in copies)


FAMILIES = {
    "poisson": lambda rng: hd.Poisson(rng.uniform(1, 9, 2)),
    "gaussian": lambda rng: hd.Gaussian(rng.normal(size=2), std=rng.uniform(1, 2, 2)),
    "wider": lambda rng: hd.Gaussian(rng.normal(size=(2, 3)), std=rng.uniform(1, 2, (2, 3))),
    "product": lambda rng: hd.Product([hd.Poisson(rng.uniform(1, 9, 2)), hd.Bernoulli(rng.uniform(0.1, 0.9, 2))]),
}


@pytest.mark.parametrize(
    "kinds", [["poisson"], ["gaussian"], ["product"], ["gaussian", "wider"], ["poisson", "gaussian", "poisson"]]
)
def test_passes_over_like_models_sort_as_one_by_one(kinds):
    rng = np.random.default_rng(1)
    rows = [[0.9, 0.1], [0.2, 0.8]]
    models = [hd.Model([0.5, 0.5], rows, FAMILIES[kind](rng), name=kind) for kind in kinds * 3]
    quick = by_shape(models)
    slow = by_shape([*models, hd.Model([1.0], [[1.0]], hd.Silent(1))])  # one of another shape: each is looked at
    assert quick.names == slow.names[:-1]
    assert [group.places.tolist() for group in quick.groups] == [group.places.tolist() for group in slow.groups[:-1]]
    assert [group.models for group in quick.groups] == [group.models for group in slow.groups[:-1]]
    for group, places in quick.groups:
        assert [group[i] for i in range(len(group))] == [models[place] for place in places]
