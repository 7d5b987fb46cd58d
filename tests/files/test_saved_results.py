"""Fits and comparisons in files: back bit for bit, and what cannot have been written is refused by its key."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.quantities import OVERLAPS
from hidiv.errors import InvalidFile
from hidiv.files.formats import from_text, to_text
from hidiv.files.loading import load_model

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="rain")
Q = hd.Model([1.0, 0.0], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
THREE = hd.Model(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), hd.Categorical(np.full((3, 3), 1 / 3)))
FIT = hd.fit(hd.sample(P, 40, seed=1)[1], None, 2, "categorical", n_init=2, seed=0)
COMPARISONS = {
    "finite": hd.compare(Q, P, 5, evidence=[0, 1, 2, 0, 1]),
    "infinite": hd.compare(P, Q, 5),
    "rates alone": hd.compare(P, Q),
    "other states": hd.compare(P, THREE, 4),
    "bits": hd.compare(Q, P, 4).to("bits"),
}


def test_a_fit_comes_back(tmp_path):
    hd.save(FIT, tmp_path / "fit.json")
    again = hd.load(tmp_path / "fit.json")
    assert isinstance(again, hd.FitResult)
    assert again == FIT
    assert again.to_dict() == FIT.to_dict()
    assert (again.bic, again.n_iter) == (FIT.bic, FIT.n_iter)


def test_a_fit_is_read_where_a_model_is_wanted(tmp_path):
    hd.save(FIT, tmp_path / "fit.json")
    assert load_model(tmp_path / "fit.json") == FIT.model


def test_a_start_of_no_likelihood_is_kept(tmp_path):
    fit = hd.FitResult(P, -3.0, (-np.inf, -3.0), True, 4, 10, ("a note",), (-np.inf,))
    hd.save(fit, tmp_path / "fit.json")
    assert hd.load(tmp_path / "fit.json") == fit


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_comes_back(name, tmp_path):
    found = COMPARISONS[name]
    hd.save(found, tmp_path / "compared.json")
    again = hd.load(tmp_path / "compared.json")
    assert again == found
    assert hash(again) == hash(found)
    assert again.to_dict() == found.to_dict()
    assert repr(again) == repr(found)
    assert again.alignment == found.alignment
    assert again.to("bits").to_dict() == found.to("bits").to_dict()


BROKEN_COMPARISONS = [
    ("subject", 3, "subject: must be text"),
    ("p", 3, "p: must be text"),
    ("unit", "miles", "unit: must be nats or bits"),
    ("joint", {}, "joint.subject: is missing"),
    ("joint", 3, "joint.description: must be a mapping"),
    ("rates", None, "rates: must be an object with joint, observed, expected_posterior"),
    ("rates", {"joint": None}, "rates: must be an object with"),
    ("undefined", [], "undefined: must be an object"),
    ("undefined", {"joint": 3}, "undefined.joint: must be text"),
    ("alignment", [1], "alignment: must be an object with permutation"),
    ("notes", "a", "notes: must be a list of texts"),
    ("notes", [3], "notes[0]: must be text"),
]
BROKEN_ALIGNMENTS = [
    ("permutation", [0, 0], "alignment.permutation: must be a permutation"),
    ("permutation", "01", "alignment.permutation: must be a permutation"),
    ("value", "much", "alignment.value: must be a number"),
    ("gain", None, "alignment.gain: must be a number"),
    ("optimal", 1, "alignment.optimal: must be true or false"),
    ("ties", 0.5, "alignment.ties: must be a whole number or null"),
]
BROKEN_FITS = [
    ("model", {}, "model: initial: is missing"),
    ("log_likelihood", "much", "log_likelihood: must hold numbers"),
    ("history", 3, "history: must be a list of numbers"),
    ("history", [], "history: must hold the log-likelihood of the start"),
    ("converged", 1, "converged: must be true or false"),
    ("n_parameters", -1, "n_parameters: must be a whole number from 0"),
    ("n_observations", 1.5, "n_observations: must be a whole number from 0"),
    ("notes", "a", "notes: must be a list of texts"),
    ("starts", [None], "starts: must hold numbers"),
]


def refusal(described):
    with pytest.raises(InvalidFile) as caught:
        from_text(json.dumps(described), "A.json")
    return str(caught.value)


@pytest.mark.parametrize(("key", "value", "sentence"), BROKEN_COMPARISONS)
def test_broken_comparisons_are_refused(key, value, sentence):
    described = json.loads(to_text(COMPARISONS["finite"]))
    assert refusal(described | {key: value}).startswith(f"A.json: {sentence}")


@pytest.mark.parametrize(("key", "value", "sentence"), BROKEN_ALIGNMENTS)
def test_broken_alignments_are_refused(key, value, sentence):
    described = json.loads(to_text(COMPARISONS["finite"]))
    described["alignment"][key] = value
    assert refusal(described).startswith(f"A.json: {sentence}")


@pytest.mark.parametrize(("key", "value", "sentence"), BROKEN_FITS)
def test_broken_fits_are_refused(key, value, sentence):
    described = json.loads(to_text(FIT))
    assert refusal(described | {key: value}).startswith(f"A.json: {sentence}")


# Keys that came later than the first files of a comparison: those files still load, without them.
LATER = (*OVERLAPS, "notes")


@pytest.mark.parametrize(("found", "later"), [(FIT, ()), (COMPARISONS["finite"], LATER)], ids=["fit", "comparison"])
def test_keys_are_all_there_and_no_others(found, later):
    described = json.loads(to_text(found))
    assert set(later) <= set(described)
    for key in set(described) - {"format", "version"}:
        without = {k: v for k, v in described.items() if k != key}
        if key in later:
            assert type(from_text(json.dumps(without), "A.json")) is type(found)
        else:
            assert refusal(without) == f"A.json: {key}: is missing"
    assert refusal(described | {"more": 1}).startswith("A.json: more: is not a known key")
