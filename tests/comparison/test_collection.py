"""Collections: stacked models come back bit for bit, and the first bad one is named."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels, InvalidFile, InvalidModel
from tests.files.examples import models, same_bits


def random_models(m: int, seed: int) -> list[hd.Model]:
    rng = np.random.default_rng(seed)

    def model(name: str) -> hd.Model:
        law = hd.Categorical(rng.dirichlet([1, 1, 1], 2))
        return hd.Model(rng.dirichlet([1, 1]), rng.dirichlet([1, 1], 2), law, name=name)

    return [model(f"m{i}") for i in range(m)]


@pytest.mark.parametrize("name", list(models()))
def test_models_come_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    model = models()[name]
    nameless = hd.Model.from_dict({k: v for k, v in model.to_dict().items() if k not in ("name", "state_names")})
    collection = hd.Collection([model, nameless, model])
    hd.save(collection, tmp_path / "models.npz")
    again = hd.load(tmp_path / "models.npz")
    assert isinstance(again, hd.Collection)
    assert again == collection == hd.Collection.load(tmp_path / "models.npz")
    assert len(again) == 3
    for given, found in zip([model, nameless, model], again, strict=True):
        assert same_bits(found.to_dict(), given.to_dict())


def test_indexing() -> None:
    given = random_models(7, seed=1)
    collection = hd.Collection(iter(given))
    assert collection[2] == given[2]
    assert collection[-1] == given[-1]
    assert collection[np.int64(3)] == given[3]
    assert list(collection[1:6:2]) == given[1:6:2]
    assert list(collection) == given
    assert collection.names == tuple(f"m{i}" for i in range(7))
    assert (collection.n_states, collection.n_groups) == (2, 1)
    assert repr(collection) == "Collection of 7 models: 2 states, categorical emission"
    assert collection != hd.Collection(given[::-1])
    with pytest.raises(IndexError):
        collection[7]
    with pytest.raises(InvalidModel, match="at least one model"):
        collection[3:3]


def test_stacked_families_hold_the_states_of_all_models() -> None:
    given = random_models(5, seed=2)
    collection = hd.Collection(given)
    assert collection.emissions[0].n_states == 10
    assert np.array_equal(collection.emissions[0].probs[4:6], given[2].emission.probs)
    assert collection.initial.shape == (5, 2)
    assert collection.transitions.shape == (5, 1, 2, 2)
    with pytest.raises(ValueError, match="read-only"):
        collection.initial[0, 0] = 1


def test_mixed_shapes_name_the_first_model_that_differs() -> None:
    a, b = models()["poisson"], models()["gaussian"]
    three = hd.Model(np.eye(3)[0], np.eye(3), hd.Poisson([1, 2, 3]), name="three")
    for given, sentence in (
        ([a, a, b, three], "models[2] 'gaussian é 😀': has emission gaussian(mean (2,), std (2,)) where"),
        ([a, three], "models[1] 'three': has 3 states where models[0] has 2 states; the models of a collection share"),
        ([a, models()["groups"]], "models[1]: has 3 transition groups and 3 families where models[0] has 1"),
        ([b, models()["end"]], "models[1] '': has end probabilities where models[0] has no end probabilities"),
        ([b, models()["gaussian by variance"]], "models[1] 'gaussian by variance"),
        ([a, 3], "models[1]: model: must be a hidiv Model"),
        ([], "models: a collection needs at least one model"),
        (a, "models: must be a list of models"),
        ({"a": a}, "models: must be a list of models"),
    ):
        with pytest.raises(InvalidModel) as caught:
            hd.Collection(given)
        assert str(caught.value).startswith(sentence)


def test_the_first_bad_model_is_named() -> None:
    arrays = hd.Collection(random_models(50, seed=3)).to_arrays()

    def changed(key: str, where: tuple[int, ...], value: object) -> str:
        array = arrays[key].copy()
        array[where] = value
        with pytest.raises(InvalidModel) as caught:
            hd.Collection.from_arrays({**arrays, key: array})
        return str(caught.value)

    assert changed("initial", (31,), [0.5, 0.6]).startswith("models[31] 'm31': initial: probabilities must sum to 1")
    assert changed("initial", (slice(17, 40),), [1.5, -0.5]).startswith("models[17] 'm17': initial[1]: probabilities")
    assert changed("transition", (49, 0, 1, 0), np.nan).startswith("models[49] 'm49': transition[1][0]: must be finite")
    assert changed("emission.0.categorical.probs", (0, 1), 0.5).startswith("models[0] 'm0': emission.probs[1]: ")


def test_rules_of_names_ends_and_holes_hold_for_every_model() -> None:
    groups, end = models()["groups"], models()["end"]
    arrays = hd.Collection([groups, groups]).to_arrays()
    names = np.array([["low", "high"], ["low", "low"]])
    with pytest.raises(InvalidModel, match=r"^models\[1\]: state_names: must all differ"):
        hd.Collection.from_arrays({**arrays, "state_names": names})
    none = np.array([[0, 1, 1], [0, 0, 0]], dtype=np.uint8)
    with pytest.raises(InvalidModel, match=r"^models\[1\]: transition: at least one group needs a matrix"):
        hd.Collection.from_arrays({**arrays, "transition_present": none})
    arrays = hd.Collection([end, end]).to_arrays()
    with pytest.raises(InvalidModel, match=r"^models\[1\] '': .* must sum to 1"):
        hd.Collection.from_arrays({**arrays, "end": np.array([[0.25, 0.7], [0.25, 0.8]])})
    with pytest.raises(InvalidModel, match=r"^models\[0\] '': end\[0\]: probabilities cannot be negative"):
        hd.Collection.from_arrays({**arrays, "end": np.array([[-0.25, 0.7], [0.25, 0.7]])})


def test_wrong_members_are_refused() -> None:
    arrays = hd.Collection(random_models(3, seed=4)).to_arrays()
    probs = "emission.0.categorical.probs"
    for change, sentence in (
        ({"format": np.array("other")}, "format: must be hidiv.collection, got other"),
        ({"version": np.array(2)}, "version: must be 1, the only one so far, got 2"),
        ({"more": np.zeros(3)}, "more: is not a known member; known are format, version, initial"),
        ({"initial": np.zeros((3, 0))}, "initial: needs at least one model and one state"),
        ({"initial": np.zeros(3)}, "initial: must have the shape (any, any), got (3,)"),
        ({"transition": np.zeros((3, 1, 2, 3))}, "transition: must have the shape (3, any, 2, 2), got (3, 1, 2, 3)"),
        ({"transition": np.zeros((3, 1, 2, 2), dtype=np.int64)}, "transition: must hold 64-bit floats, got <i8"),
        ({"end": np.zeros((2, 2))}, "end: must have the shape (3, 2), got (2, 2)"),
        ({"name": np.zeros(3)}, "name: must hold text, got <f8"),
        ({"name_present": np.array([0, 1, 2], dtype=np.uint8)}, "name_present: must hold 0 and 1, got 2"),
        ({probs: np.zeros((3, 3, 3))}, f"{probs}: must have the shape (3, 2, ...), got (3, 3, 3)"),
        ({"emission.0.normal.mean": np.zeros((3, 2))}, "emission.0.normal.mean: is not a known family, got normal"),
        ({"emission.2.poisson.rate": np.ones((3, 2))}, "emission.2.poisson.rate: members of one family must follow"),
        ({"emission.1": np.ones((3, 2))}, "emission.1: is not a known family"),
        ({"emission.1.poisson": np.ones((3, 2))}, "emission.1.poisson: must be named emission.<group>.<family>"),
        ({"emission.1.silent.n_states": np.array(3)}, "emission.1.silent.n_states: must be 2, the number of states"),
    ):
        with pytest.raises(InvalidFile) as caught:
            hd.Collection.from_arrays({**arrays, **change})
        assert str(caught.value).startswith(sentence)
    for key in ("format", "version", "initial", "transition", probs):
        with pytest.raises(InvalidFile):
            hd.Collection.from_arrays({k: v for k, v in arrays.items() if k != key})
    with pytest.raises(InvalidModel, match="ends with a zero character"):
        hd.Collection([hd.Model([1], [[1]], hd.Silent(1), name="a\0")]).to_arrays()


def test_a_file_names_itself_once(tmp_path: Path) -> None:
    arrays = hd.Collection(random_models(3, seed=5)).to_arrays()
    arrays["initial"] = np.zeros((3, 2))
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(InvalidModel, match=r"bad.npz: models\[0\] 'm0': initial: probabilities must sum to 1"):
        hd.load(path)


def test_one_pass_over_many_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    m, k = 5_000, 4
    arrays = {
        "format": np.array("hidiv.collection"), "version": np.array(1),
        "initial": rng.dirichlet(np.ones(k), m), "transition": rng.dirichlet(np.ones(k), (m, 1, k)),
        "emission.0.categorical.probs": rng.dirichlet(np.ones(10), (m, k)),
        "name": np.array([f"m{i}" for i in range(m)]),
    }  # fmt: skip
    hd.Collection.from_arrays(arrays).save(tmp_path / "many.npz")
    start = time.process_time()
    collection = hd.Collection.load(tmp_path / "many.npz")
    assert time.process_time() - start < 1.0
    assert len(collection) == m
    assert collection[m - 1].name == f"m{m - 1}"


def named(names, seed=0, k=2):
    rng = np.random.default_rng(seed)
    return hd.Model(
        [0.5, 0.5], rng.dirichlet(np.ones(k), k), hd.Categorical(rng.dirichlet(np.ones(3), k)), symbol_names=names
    )


def test_symbol_names_are_kept(tmp_path):
    ms = [named(["a", "b", "c"]), named(None, 1), named(["a", "b", "c"], 2)]
    some = hd.Collection(ms)
    path = tmp_path / "some.npz"
    some.save(path)
    for kept in (some, hd.Collection.load(path), some[0:2]):
        assert [m.symbol_names for m in kept][:2] == [(("a", "b", "c"),), None]
    assert hd.Collection.load(path) == some
    assert list(hd.Collection.load(path)) == ms
    emission = hd.Product([hd.Poisson([1.0, 2.0]), hd.Categorical([[0.5, 0.5], [0.2, 0.8]])])
    two = hd.Collection([hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, emission, symbol_names=[None, ["no", "yes"]])])
    two.save(path)
    assert hd.Collection.load(path)[0].symbol_names == (None, ("no", "yes"))
    assert hd.Collection([named(None)]).to_arrays().keys() == {
        "format", "version", "initial", "transition", "emission.0.categorical.probs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"symbol_columns": np.array(0)}, "symbol_columns: must be a whole number from 1"),
        ({"symbol_names.7": np.array([["a", "b", "c"]])}, "symbol_names.7: must be named symbol_names.<column>"),
        ({"symbol_names.0": np.array([["a", "b"]])}, "must name the 3 symbols"),
        ({"symbol_names.0": np.zeros((1, 0), dtype="U1")}, "symbol_names.0: must hold text"),
        ({"symbol_columns": np.array(2)}, "symbol_names: needs 1 entry, one a column"),
    ],
)
def test_bad_symbol_names_of_a_file(change, sentence):
    arrays = hd.Collection([named(["a", "b", "c"])]).to_arrays() | change
    with pytest.raises(HidivError, match=sentence):
        hd.Collection.from_arrays(arrays)
    del arrays["symbol_columns"]
    with pytest.raises(HidivError, match="symbol_columns: is missing"):
        hd.Collection.from_arrays(arrays)


def test_symbols_must_agree_as_for_one_pair():
    one, two, plain = named(["a", "b", "c"]), named(["b", "a", "c"], 1), named(None, 2)
    for quantity, more in (("joint", {}), ("aligned", {}), ("observed", {}), ("posterior", {"evidence": [0, 1]})):
        with pytest.raises(IncompatibleModels, match=r"symbol_names: models\[0\] has the symbols a, b, c and models"):
            hd.pairwise_kl([one, two], 2, quantity=quantity, **more)
        with pytest.raises(IncompatibleModels, match=r"and others\[0\] has b, a, c"):
            hd.pairwise_kl([one], 2, [two], quantity=quantity, **more)
        hd.pairwise_kl([one, plain], 2, quantity=quantity, **more)
    with pytest.raises(IncompatibleModels, match=r"queries\[0\] has the symbols a, b, c and models\[1\] has b, a, c"):
        hd.nearest([one], [plain, two], 2, 1)
