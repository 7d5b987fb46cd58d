"""Whatever a JSON file holds, it gives a valid object or one sentence of ours."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.emissions.registry import FAMILIES
from hidiv.files.formats import from_text, to_text
from hidiv.files.loading import decoded
from tests.files.examples import models
from tests.refusals import found_or_refused

# Few files and always the same with every commit; HIDIV_FUZZ=N new ones in a long run (make fuzz).
LONG = int(os.environ.get("HIDIV_FUZZ", "0"))
FUZZ = settings(
    max_examples=LONG or 120,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)

p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]), name="rain")
q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.0, 1.0], [0.6, 0.4]]))
MODELS = [to_text(model) for model in models().values()]
TREES = [to_text(tree) for tree in (
    hd.Tree([-1, 0, 0], [0, 1, 1], labels=["a", "b", "c"]), hd.Tree.chain(5, [0, 1, 0, 1, 0]), hd.Tree.regular(2, 3),
)]  # fmt: skip
RESULTS = [to_text(result) for result in (hd.joint_kl(p, q, 5), hd.joint_kl(q, p, 5))]
TEXTS = [*MODELS, *TREES, *RESULTS]

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["stationary", "gaussian", "product", "silent", "inf", "hidiv.tree"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def valid_or_refused(text: str) -> None:
    found = found_or_refused(lambda: from_text(text, "file.json"), "file.json")
    if found is not None:
        again = from_text(to_text(found), "again")  # what was accepted can be saved and read again
        assert again.to_dict() == found.to_dict()
        assert repr(found)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, v in inner for place in places(v, (*path, key))]


@pytest.mark.parametrize("texts", [MODELS, TREES, RESULTS], ids=["models", "trees", "results"])
@FUZZ
@given(data=st.data())
def test_changed_places(texts: list[str], data: st.DataObject) -> None:
    described = json.loads(data.draw(st.sampled_from(texts)))
    for _ in range(data.draw(st.integers(1, 3))):
        # The top level first: drawing evenly from all places would seldom leave the long arrays.
        key = data.draw(st.sampled_from(list(described)))
        *path, last = (key, *data.draw(st.sampled_from(places(described[key]))))
        holder = described
        for key in path:
            holder = holder[key]
        action = data.draw(st.sampled_from(["replace", "drop", "add", "move"]))
        if action == "drop" and len(described) > 1:
            del holder[last]
        elif action == "add" and isinstance(holder[last], dict):
            holder[last][data.draw(st.text(max_size=4))] = data.draw(values)
        elif action == "add" and isinstance(holder[last], list):
            holder[last].append(data.draw(values))
        elif last == "family":
            holder[last] = data.draw(st.sampled_from(list(FAMILIES)))
        elif action == "move":
            holder[last] = copy.deepcopy(described[data.draw(st.sampled_from(list(described)))])
        else:
            holder[last] = data.draw(values)
    valid_or_refused(json.dumps(described))


NUMBERS = (
    0.0, 5e-324, 1e-308, 1e-300, 1e-160, 1e-16, 1e-8, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 2.0, 1e3, 1e9, 2.0**53,
    1e19, 1e100, 1e154, 1e160, 1e300, 1.7e308, -1.0, -1e300,
)  # fmt: skip


@FUZZ
@given(st.data())
def test_models_with_extreme_numbers_are_used(data: st.DataObject) -> None:
    """Whatever loads gives values without NaN or warning, or one sentence, in every operation."""
    text = data.draw(st.sampled_from(MODELS))
    described, original = json.loads(text), from_text(text, "file.json")
    numbers = [place for place in places(described["emission"]) if isinstance(at(described["emission"], place), float)]
    for _ in range(data.draw(st.integers(1, 3)) if numbers else 0):
        *path, last = data.draw(st.sampled_from(numbers))
        at(described["emission"], path)[last] = data.draw(st.sampled_from(NUMBERS))
    found = found_or_refused(lambda: from_text(json.dumps(described), "file.json"), "file.json")
    if found is None:
        return
    assert from_text(to_text(found), "again").to_dict() == found.to_dict()
    tree = hd.Tree.chain(3, [0, 1, 1]) if found.n_groups > 1 else 3
    for a, b in ((found, original), (original, found), (found, found)):
        for compute in (
            lambda a=a, b=b: hd.joint_kl(a, b, tree),
            lambda a=a, b=b: hd.joint_kl_rate(a, b),
            lambda a=a, b=b: hd.joint_renyi(a, b, tree, 0.5),
            lambda a=a, b=b: hd.montecarlo(a, b, tree, samples=8, seed=0),
        ):
            assert_number(compute)
    small = {"seed": 0, "max_samples": 32, "max_seconds": 0.05}
    if LONG or data.draw(st.sampled_from((True, False, False))):  # a few are enough with every commit
        assert_number(lambda: hd.observed_kl(found, original, tree, **small))
    drawn = found_or_refused(lambda: hd.sample(found, tree, seed=0))
    if drawn is not None:
        assert np.isfinite(drawn[1]).all()
        assert_number(lambda: hd.log_likelihood(found, drawn[1], tree))
        assert_number(lambda: hd.posterior_kl(found, original, drawn[1], tree))


def at(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def assert_number(compute: Any) -> None:
    found = found_or_refused(compute)
    assert found is None or not np.isnan(float(found))


@FUZZ
@given(st.sampled_from(["hidiv.model", "hidiv.tree", "hidiv.divergence"]), st.data())
def test_any_value_under_any_key(form: str, data: st.DataObject) -> None:
    keys = ["initial", "transition", "emission", "parent", "group", "chain", "regular", "labels", "value", "name"]
    described = data.draw(st.dictionaries(st.sampled_from(keys), values, max_size=5))
    valid_or_refused(json.dumps({"format": form, "version": 1, **described}))


@FUZZ
@given(st.sampled_from(TEXTS), st.data())
def test_changed_characters(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, 4))
    put = data.draw(st.text(alphabet='[]{},:"\\-+.0123456789eENaIinfultrs \n\0\u2028', max_size=4))
    valid_or_refused(text[:at] + put + text[at + removed :])


@FUZZ
@given(st.sampled_from(TEXTS), st.integers(0, 2000))
def test_truncated_text(text: str, length: int) -> None:
    valid_or_refused(text[:length])


@FUZZ
@given(st.binary(max_size=60), st.sampled_from(["", *TEXTS]))
def test_any_bytes(data: bytes, rest: str) -> None:
    text = found_or_refused(lambda: decoded(data + rest.encode(), "file.json"), "file.json")
    if text is not None:
        valid_or_refused(text)
