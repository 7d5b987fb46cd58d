"""The names and first arguments that are contract, and what results answer to."""

from __future__ import annotations

import inspect
from contextlib import suppress

import pytest

import hidiv as hd

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.9, 0.1], [0.3, 0.7]]))
SIGNATURES = {
    "equivalent": ["p", "q"],
    "minimal": ["p"],
    "order": ["p"],
    "reduce": ["p", "n_states", "within"],
    "match": ["models", "reference"],
    "agreement": ["models"],
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_first_arguments(name):
    given = inspect.signature(getattr(hd, name)).parameters.values()
    assert [each.name for each in given if each.kind is each.POSITIONAL_OR_KEYWORD] == SIGNATURES[name]


def test_what_results_have(tmp_path):
    results = [
        (hd.equivalent(P, P), ("equal", "word", "probabilities")),
        (hd.minimal(P), ("model", "merged")),
        (hd.reduce(P, 1, nodes=200, seed=1), ("models", "divergences", "chosen", "merged")),
        (hd.match([P, P]), ("models", "permutations", "certainty")),
        (hd.agreement([P, P], nodes=200, seed=1), ("divergences", "matching", "verdict")),
    ]
    for result, names in results:
        assert all(hasattr(result, name) for name in names)
        assert result.summary() in repr(result)
        path = tmp_path / "result.json"
        hd.save(result, path)
        assert hd.load(path) == result
    assert type(hd.order(P)) is int


@pytest.mark.parametrize("form", ["equivalence", "minimal", "reduction", "matching", "agreement"])
def test_damaged_files_are_refused_in_one_sentence(form):
    made = {
        "equivalence": lambda: hd.equivalent(P, P),
        "minimal": lambda: hd.minimal(P),
        "reduction": lambda: hd.reduce(P, 2, nodes=200, seed=1),
        "matching": lambda: hd.match([P, P]),
        "agreement": lambda: hd.agreement([P, P], nodes=200, seed=1),
    }[form]()
    described = made.to_dict()
    for key in set(described) - {"format", "version"}:
        for value in (7, "x", [["y"]], {"z": 1}, None):
            with suppress(hd.errors.InvalidFile):
                type(made).from_dict(described | {key: value})
    with pytest.raises(hd.errors.InvalidFile):
        type(made).from_dict({"format": f"hidiv.{form}"})
