"""Values in messages: long ones are cut between words, names and parts of paths stay whole."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from hidiv.errors import LONGEST, shown

DEEP = "/data/orchards/2026/apple/measurements/second_campaign/hidden_semi_markov_chains/estimated_in_june.hmt"


def test_a_path_keeps_its_names_whole():
    assert shown(DEEP) == "/data/orchards/2026/apple/measurements/second_campaign/.../estimated_in_june.hmt"
    assert shown("C:\\" + "folder\\" * 12 + "a.hmt") == "C:\\" + "folder\\" * 5 + "...\\" + "folder\\" * 4 + "a.hmt"


def test_a_list_is_cut_between_its_entries():
    assert shown(list(range(100))).startswith("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")
    assert re.search(r"\d, \.\.\. \d\d, ", shown(list(range(100))))


def test_short_values_stay():
    assert shown("x" * LONGEST) == "x" * LONGEST
    assert shown("x" * 81) == "x" * 38 + "..." + "x" * 39


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=30), min_size=1, max_size=30), st.sampled_from(["/", " ", ", "])
)
def test_never_longer_and_never_within_a_name(names, separator):
    text = shown(separator.join(names))
    assert len(text) <= LONGEST
    assert set(re.findall(r"[a-h]+", text)) <= set(names)
    assert text.endswith(names[-1])
