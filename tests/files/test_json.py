"""JSON files: what is saved comes back bit for bit, what cannot be is refused in one sentence with its place."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import HidivError, InvalidFile, InvalidModel, InvalidTree
from hidiv.files import disk
from hidiv.files.formats import from_text, model_from_text, to_text, tree_from_text
from hidiv.files.loading import load_model, load_tree
from tests.files.examples import models, same_bits
from tests.strategies import LAW

MODEL = {
    "format": "hidiv.model", "version": 1, "name": "rain", "state_names": ["dry", "wet"],
    "initial": [0.5, 0.5], "transition": [[0.9, 0.1], [0.2, 0.8]],
    "emission": {"family": "categorical", "probs": [[0.1, 0.9], [0.6, 0.4]]},
}  # fmt: skip
TREES = [
    hd.Tree([-1, 0, 0, 1]),
    hd.Tree([-1, 0, 0, 1], [0, 1, 1, 2]),
    hd.Tree.chain(10**12),
    hd.Tree.chain(3, [0, 1, 0]),
    hd.Tree.regular(2, 500),
    hd.Tree.from_edges([("a", 1), (1, 2.5), ("a", None), ("a", 2**63)]),
    hd.Tree.from_words(["", "1", "10"], [0, 1, 2]),
    hd.Tree.from_newick("(,('é\ud800',));"),
]


def refusal(described: object, place: str = "A.json") -> HidivError:
    text = described if isinstance(described, str) else json.dumps(described)
    with pytest.raises(HidivError) as caught:
        from_text(text, place)
    assert str(caught.value).startswith(place)
    assert "\n" not in str(caught.value)
    return caught.value


# Round trips


@pytest.mark.parametrize("name", list(models()))
def test_models_come_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    model = models()[name]
    hd.save(model, tmp_path / "model.json")
    again = hd.load(tmp_path / "model.json")
    assert isinstance(again, hd.Model)
    assert same_bits(again.to_dict(), model.to_dict())
    assert again == model
    assert model_from_text(to_text(model), "text") == model


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_come_back(tree: hd.Tree, tmp_path: Path) -> None:
    hd.save(tree, tmp_path / "tree.json")
    again = load_tree(str(tmp_path / "tree.json"))
    assert again == tree
    assert again.labels == tree.labels
    assert again.word(1) == tree.word(1)
    assert tree_from_text(to_text(tree), "text") == tree


def test_results_come_back(tmp_path: Path) -> None:
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.0, 1.0], [0.6, 0.4]]))
    for result in (hd.joint_kl(q, p, 7), hd.joint_kl(p, q, 7)):  # the second is infinite
        hd.save(result, tmp_path / "result.json")
        again = hd.load(tmp_path / "result.json")
        assert same_bits(again.to_dict(), result.to_dict())


@LAW
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_any_finite_double_comes_back(means: list[float]) -> None:
    k = len(means)
    model = hd.Model(np.full(k, 1 / k), np.eye(k), hd.Gaussian(means, std=np.ones(k)))
    assert same_bits(model_from_text(to_text(model), "text").to_dict(), model.to_dict())


def test_the_file_of_the_manual(tmp_path: Path) -> None:
    path = tmp_path / "rain.json"
    path.write_text(json.dumps(MODEL))
    model = load_model(path)
    assert (model.name, model.state_names) == ("rain", ("dry", "wet"))
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(MODEL).encode())  # a byte order mark
    assert hd.load(path) == model
    path.write_text('{"format": "hidiv.tree", "version": 1, "parent": [-1, 0, 0], "group": [0, 1, 1]}')
    assert hd.load(path) == hd.Tree([-1, 0, 0], [0, 1, 1])


# Refusals


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "A.json, line 1, column 1: the file is empty"),
        ('{"format": "hidiv.tree",\n "chain" 3}', "A.json, line 2, column 10: is not JSON, expecting ':' delimiter"),
        ("[1, 2]", "A.json: must hold a JSON object {...}, got list"),
        ("{}", 'A.json: the key "format" is missing; known are hidiv.model, hidiv.tree, hidiv.divergence'),
        ('{"format": "other"}', "A.json: format: is not a known one, got 'other'; known are hidiv.model, hidiv.tree"),
        ('{"format": ["x"]}', "A.json: format: is not a known one, got ['x']"),
        ('{"format": "hidiv.tree", "chain": 3}', "A.json: version: must be 1, the only one so far, got None"),
        ('{"format": "hidiv.tree", "version": 2}', "A.json: version: must be 1, the only one so far, got 2"),
        ('{"format": "hidiv.tree", "version": true}', "A.json: version: must be 1"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'A.json: the key "c" is there twice in one object'),
        ('{"NaN": "NaN",\n "b": [1,\n NaN]}', "A.json, line 3: must be a finite number, got NaN"),
        ('{"a": "\\"Infinity", "b":\n -Infinity}', "A.json, line 2: must be a finite number, got -Infinity"),
        ('{"a": [11e999,\n 1e999]}', "A.json, line 1: a number beyond the range of doubles, got 11e999"),
        ('{"a": 1,\n "b": 1' + "0" * 400 + "}", "A.json, line 2: a number beyond the range of doubles, got 1000"),
        ('{"a": -' + "9" * 5000 + "}", "A.json, line 1: a number beyond the range of doubles"),
        ('{"a": ' + "[" * 10**5 + "]" * 10**5 + "}", "A.json: is nested too deeply"),
    ],
)
def test_text_refused(text: str, sentence: str) -> None:
    error = refusal(text)
    assert isinstance(error, InvalidFile)
    assert str(error).startswith(sentence)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"initial": [0.5, 0.6]}, "A.json: initial: probabilities must sum to 1"),
        ({"initial": [1.5, -0.5]}, "A.json: initial[1]: probabilities cannot be negative"),
        ({"initial": [1.0]}, "A.json: initial: needs one probability for each of the 2 states"),
        ({"transition": [[0.9, 0.1], [0.2, 0.9]]}, "A.json: transition[1]: probabilities must sum to 1"),
        ({"transition": [[0.9, 0.1], [0.2]]}, "A.json: transition: must be a rectangular array of numbers"),
        ({"transition": None}, "A.json: transition"),
        ({"emission": {"family": "normal"}}, "A.json: emission.family: is not a known family, got normal; known are"),
        ({"emission": {"family": "categorical"}}, "A.json: emission.probs: is missing"),
        ({"emission": {"family": "gaussian", "men": [1]}}, "A.json: emission.men: is not a parameter of gaussian"),
        ({"emission": [{"family": "categorical", "probs": [[2]]}]}, "A.json: emission[0].probs[0]: probabilities must"),
        ({"emision": 3}, "A.json: emision: is not a known key; known are initial, transition, emission"),
        ({"state_names": ["a", "a"]}, "A.json: state_names: must all differ"),
        ({"end": [0, 0, 0]}, "A.json: end: needs one probability for each of the 2 states"),
    ],
)
def test_model_refused_with_its_place(change: dict[str, object], sentence: str) -> None:
    error = refusal(MODEL | change)
    assert isinstance(error, InvalidModel)
    assert str(error).startswith(sentence)


def test_missing_keys_and_trees_refused() -> None:
    for key in ("initial", "transition", "emission"):
        assert str(refusal({k: v for k, v in MODEL.items() if k != key})) == f"A.json: {key}: is missing"
    head = {"format": "hidiv.tree", "version": 1}
    error = refusal(head | {"parent": [-1, 0, -1]})
    assert isinstance(error, InvalidTree)
    assert str(error).startswith("A.json: parent: two roots, nodes 0 and 2")
    assert str(refusal(head | {"chain": 10**30})).startswith("A.json: n: the number of nodes must be below 2**63")
    assert str(refusal(head | {"regular": {"children": 2, "depth": 0}})).startswith("A.json: depth: ")


def test_the_wrong_kind_of_file_is_named(tmp_path: Path) -> None:
    hd.save(hd.Tree.chain(3), tmp_path / "tree.json")
    with pytest.raises(InvalidFile, match=r"tree.json: format: hidiv.model is needed here, got hidiv.tree"):
        load_model(tmp_path / "tree.json")
    hd.save(hd.Collection([hd.Model([1], [[1]], hd.Silent(1))]), tmp_path / "c.npz")
    with pytest.raises(InvalidFile, match=r"c.npz: hidiv.model is needed here, got a zip archive"):
        load_model(tmp_path / "c.npz")
    with pytest.raises(InvalidFile, match="must hold a collection"):
        hd.Collection.load(tmp_path / "tree.json")


def test_bytes_and_paths_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidFile, match="bad.json: must be UTF-8 text, byte 8 is not"):
        hd.load(path)
    path.write_text(to_text(hd.Tree.chain(3)), encoding="utf-16")
    with pytest.raises(InvalidFile, match="must be UTF-8 text, byte 1 is not"):
        hd.load(path)
    with pytest.raises(InvalidFile, match="none.json: cannot be read, no such file"):
        hd.load(tmp_path / "none.json")
    with pytest.raises(InvalidFile, match="a folder with a model has transition.csv, got no CSV file"):
        hd.load(tmp_path)
    for wrong in (None, 3, b"a.json", "", "a\0b"):
        with pytest.raises(InvalidFile, match="^path: must be a file's path"):
            hd.load(wrong)
    monkeypatch.setattr(disk, "READ_LIMIT", 10)
    with pytest.raises(InvalidFile, match="may have 10 bytes, got "):
        hd.load(path)


# Saving


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    model = models()["poisson"]
    for obj, sentence in (
        (
            np.zeros(3),
            "save: files hold a Model, a Tree, a Divergence, a Measure, a Comparison, ",
        ),
        (np.zeros(3), "save: files hold a Model, a Tree, a Divergence, a Measure, a Comparison, an Equivalence, "),
        (MODEL, "save: files hold a Model"),
        (hd.Model, "save: files hold a Model"),
        (hd.Tree.from_edges([((0, 1), "b")]), "labels[0]: only labels that are texts or numbers can be saved"),
        (hd.Tree.from_edges([(10**310, "b")]), "labels[0]: only labels"),
        (hd.Tree.from_edges([(float("inf"), "b")]), "labels: holds what JSON cannot"),
    ):
        with pytest.raises(InvalidFile) as caught:
            hd.save(obj, tmp_path / "x.json")
        assert str(caught.value).startswith(sentence)
    with pytest.raises(InvalidFile, match="a Model is written as JSON, got .*; name the file .json"):
        hd.save(model, tmp_path / "model.npz")
    with pytest.raises(InvalidFile, match="a Collection is written as NPZ"):
        hd.save(hd.Collection([model]), tmp_path / "models.json")
    with pytest.raises(InvalidFile, match="cannot be written, no such file"):
        hd.save(model, tmp_path / "no folder" / "model.json")
    with pytest.raises(InvalidFile, match="is not a file that can be replaced"):
        hd.save(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.json"
    hd.save(hd.Tree.chain(3), path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidFile, match="tree.json: cannot be written, no space left on device"):
        hd.save(hd.Tree.chain(4), path)
    monkeypatch.undo()
    assert hd.load(path) == hd.Tree.chain(3)
    assert list(tmp_path.iterdir()) == [path]


def test_saving_keeps_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "tree.json", tmp_path / "link.json"
    hd.save(hd.Tree.chain(3), path)
    path.chmod(0o640)
    link.symlink_to(path)
    hd.save(hd.Tree.chain(4), link)
    assert link.is_symlink()
    assert hd.load(path) == hd.Tree.chain(4)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_files_are_made_to_be_read() -> None:
    assert to_text(hd.Tree.chain(3)) == '{\n "format": "hidiv.tree",\n "version": 1,\n "chain": 3\n}\n'
    assert '"name": "été"' in to_text(hd.Model([1], [[1]], hd.Silent(1), name="été"))
