"""Models: what is accepted, what is refused, what comes back."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidModel

T = [[0.9, 0.1], [0.2, 0.8]]
E = hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])


def test_parts_are_kept_and_frozen() -> None:
    model = hd.Model([0.5, 0.5], T, E, name="rain", state_names=["dry", "wet"])
    assert (model.n_states, model.n_groups, model.n_features) == (2, 1, 1)
    assert model.transition.tolist() == T
    assert model.emission is E
    for array in (model.initial, model.transition, model.emission.probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        model.name = "snow"


def test_inputs_are_copied() -> None:
    transition = np.array(T)
    model = hd.Model([0.5, 0.5], transition, E)
    transition[0] = [0, 1]
    assert model.transition.tolist() == T


def test_groups_and_none() -> None:
    model = hd.Model([0.5, 0.5], [None, T, np.eye(2)], [E, E, E])
    assert model.n_groups == 3
    assert model.transition[0] is None
    assert model.transition[1].tolist() == T
    assert hd.Model([0.5, 0.5], np.array([T, T]), E).transition.shape == (2, 2, 2)
    assert hd.Model([0.5, 0.5], [T], E).n_groups == 1


@pytest.mark.parametrize("model", [
    hd.Model([0.5, 0.5], T, E, name="a", state_names=["x", "y"]),
    hd.Model([1 / 3, 2 / 3], [None, T], [E, hd.Categorical([[1, 0, 0], [0, 0.1, 0.9]])]),
    hd.Model([0.5, 0.5], [[0.5, 0.1], [0.2, 0.3]], E, end=[0.4, 0.5]),
])  # fmt: skip
def test_dict_round_trip_changes_no_bit(model: hd.Model) -> None:
    again = hd.Model.from_dict(model.to_dict())
    assert again == model
    assert again.initial.tobytes() == model.initial.tobytes()
    assert again.transitions.tobytes() == model.transitions.tobytes()


def test_rows_slightly_off_are_rescaled_once() -> None:
    row = np.array([0.3, 0.7 + 1e-10])
    model = hd.Model(row, T, E)
    assert abs(model.initial.sum() - 1) < 3e-16
    again = hd.Model(model.initial, T, E)
    assert again.initial.tobytes() == model.initial.tobytes()


def test_rows_within_rounding_are_left_alone() -> None:
    row = np.array([0.5, 0.5 + 2.0**-52])
    assert row.sum() != 1
    model = hd.Model(row, np.eye(2), hd.Silent(2))
    assert model.initial.tobytes() == row.tobytes()


def test_stationary() -> None:
    assert hd.Model("stationary", T, E).initial == pytest.approx([2 / 3, 1 / 3], rel=1e-15)
    cyclic = hd.Model([1, 0], [[0, 1], [1, 0]], E)
    assert cyclic.stationary().tolist() == [0.5, 0.5]
    # Two closed classes: the long run depends on the start.
    split = hd.Model([0.5, 0.25, 0.25], [[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1]], hd.Silent(3))
    assert split.stationary().tolist() == [0, 0.5, 0.5]


def test_relabel() -> None:
    model = hd.Model([0.25, 0.75], T, E, state_names=["dry", "wet"])
    turned = model.relabel([1, 0])
    assert turned.initial.tolist() == [0.75, 0.25]
    assert turned.transition.tolist() == [[0.8, 0.2], [0.1, 0.9]]
    assert turned.emission.probs.tolist() == [[0.2, 0.1, 0.7], [0.1, 0.3, 0.6]]
    assert turned.state_names == ("wet", "dry")
    assert turned.relabel([1, 0]) == model


GOOD = {"initial": [0.5, 0.5], "transition": T, "emission": {"family": "categorical", "probs": [[1.0], [1.0]]}}


@pytest.mark.parametrize(("change", "said"), [
    ({"initial": [0.5, 0.4]}, "initial: probabilities must sum to 1 within 1e-08, got 0.9; rescale them"),
    ({"initial": [1.5, -0.5]}, "initial[1]: probabilities cannot be negative, got -0.5"),
    ({"initial": [0.5, float("nan")]}, "initial[1]: must be finite, got nan"),
    ({"initial": [1.0]}, "initial: needs one probability for each of the 2 states of the transition, got 1"),
    ({"initial": "steady"}, 'initial: must be a list of probabilities or "stationary", got steady'),
    ({"initial": []}, "initial: must be a non-empty 1-dimensional array"),
    ({"transition": [[1, 0], [0, 0.9]]}, "transition[1]: probabilities must sum to 1 within 1e-08, got 0.9"),
    ({"transition": [[1, 0]]}, "transition: must be square, K x K, got (1, 2)"),
    ({"transition": [[1, 0], [1]]}, "transition: must be a rectangular array of numbers"),
    ({"transition": [None, None]}, "transition: at least one group needs a matrix"),
    ({"transition": [None, [[1, 0], [0, 2]]]}, "transition[1][1]: probabilities must sum to 1 within 1e-08, got 2.0"),
    ({"transition": "abc"}, "transition: must be a rectangular array of numbers, got abc"),
    ({"end": [0.1, 0.1]}, "transition[0]: a row and its end probability must sum to 1 within 1e-08, got 1.1"),
    ({"end": [0.1]}, "end: needs one probability for each of the 2 states, got 1"),
    ({"name": 3}, "name: must be text, got 3"),
    ({"state_names": ["a", "a"]}, "state_names: must all differ"),
    ({"state_names": ["a"]}, "state_names: needs a list of 2 texts, one a state"),
    ({"emission": {"family": "categorical", "probs": [[1.0]]}}, "emission: needs 2 states like the transition, got 1"),
    ({"emission": {"family": "spline"}}, "emission.family: is not a known family, got spline; known are categorical,"),
    ({"emission": {"family": "categorical"}}, "emission.probs: is missing, categorical needs it"),
    ({"emission": {"family": "categorical", "probs": [[0.5], [1.0]]}}, "emission.probs[0]: probabilities must sum"),
    ({"emission": []}, "emission: needs a family, or one a group"),
    ({"emission": 7}, 'emission: must be a mapping with a "family" name'),
    ({"format": "other"}, 'format: must be "hidiv.model", got other'),
    ({"version": 2}, "version: must be 1, the only one so far, got 2"),
    ({"extra": 1}, "extra: is not a known key"),
])  # fmt: skip
def test_each_mistake_has_its_sentence(change: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        hd.Model.from_dict({**GOOD, **change})
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_missing_keys() -> None:
    with pytest.raises(InvalidModel, match="initial: is missing"):
        hd.Model.from_dict({"transition": T, "emission": GOOD["emission"]})


def test_no_single_stationary_law() -> None:
    with pytest.raises(InvalidModel, match="2 closed classes"):
        hd.Model("stationary", np.eye(2), E)


def test_groups_that_do_not_match() -> None:
    with pytest.raises(InvalidModel, match="needs one family or one for each of the 2 transition groups, got 3"):
        hd.Model([0.5, 0.5], [T, T], [E, E, E])


def test_emission_that_is_no_family() -> None:
    with pytest.raises(InvalidModel, match="must be an emission family"):
        hd.Model([0.5, 0.5], T, [[0.1, 0.9], [0.5, 0.5]])


def test_dicts_are_models_wherever_models_are() -> None:
    p = hd.Model([0.5, 0.5], T, E)
    assert hd.joint_kl(p.to_dict(), p, 3).value == 0
    with pytest.raises(InvalidModel, match="^q: model: must be a hidiv Model, a dict"):
        hd.joint_kl(p, 3, 3)
