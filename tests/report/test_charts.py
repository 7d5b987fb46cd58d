"""Bars of very different heights, and the numbers of an axis."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import hidiv as hd
from hidiv.report.charts import HEIGHT, OVER, bars
from hidiv.report.digits import shown
from hidiv.report.emission_pictures import LETTER, WIDTH, pictures


def test_one_bar_above_all_others_is_cut_so_that_the_others_are_seen() -> None:
    chart = bars("b", np.array([77.0, 0.5, 1.0]), "node")
    assert chart.cut
    assert chart.largest == (0, 77.0)
    assert max(value for _, value in chart.lines) == 1.0
    assert f"V{-OVER:.2f}" in chart.path
    assert "V0.00" in chart.path  # the second reaches the top of the axis
    assert chart.values[0] == 77.0


def test_bars_of_like_heights_are_not_cut() -> None:
    for heights in ([3.0, 2.0, 1.0], [3.0], [3.0, 0.0]):
        chart = bars("b", np.array(heights), "node")
        assert not chart.cut
        assert max(value for _, value in chart.lines) >= 3.0
        assert f"V{HEIGHT:.0f}" in chart.path


def test_thousands_are_written_out() -> None:
    assert [shown(value, 3) for value in (2986.0, 99999.0, 1e6, 2.5e-7)] == ["2990", "100000", "1e+6", "2.5e-7"]


def test_labels_below_bars_neither_overlap_nor_leave_the_picture() -> None:
    p, q = (
        hd.Model([1.0], [[1.0]], hd.Bernoulli([[chance] * 9]), column_names=[f"H3k0{i}me3" for i in range(9)])
        for chance in (0.2, 0.3)
    )
    ((_, (panel,)),) = pictures(p, q, np.ones(1)).columns
    spans = []
    for x, label, anchor in panel.ticks:
        wide = LETTER * len(label)
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
        spans.append((left, left + wide))
    assert spans[0][0] >= 0.0
    assert spans[-1][1] <= WIDTH
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
