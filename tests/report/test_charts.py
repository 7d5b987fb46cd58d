"""Bars of very different heights, and the numbers of an axis."""

from __future__ import annotations

import numpy as np

from hidiv.report.charts import HEIGHT, OVER, bars
from hidiv.report.digits import shown


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
