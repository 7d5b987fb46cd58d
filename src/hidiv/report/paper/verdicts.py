"""A verdict on every number the paper prints (reproduced, differs, redrawn with nothing printed to compare)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import hypot
from typing import Any, Literal

import numpy as np

from hidiv.divergences.montecarlo import Z95
from hidiv.divergences.result import Divergence
from hidiv.report.paper import printed
from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Supplement, Table1

Word = Literal["reproduced", "differs", "redrawn", "not drawn"]

MEANING = {
    "reproduced": "equal to the printed digits; for a random number, within 3 standard errors of the difference of two "
    "runs, with an interval as wide to within 35 %",
    "differs": "the printed parameters give another number, shown beside it",
    "redrawn": "nothing printed to compare with; the figure is drawn again and our numbers stand beside it",
    "not drawn": "fewer trials were asked for than this row needs",
}
NEAR = 3.0  # combined standard errors that two runs may be apart
WIDTHS = 0.35  # relative difference of two interval widths that is allowed; the draws have long tails


@dataclass(frozen=True)
class Verdict:
    """One printed number and ours; `observed` is the observed divergence of the same models."""

    place: str
    what: str
    printed: str
    ours: str
    verdict: Word
    reason: str
    observed: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain text."""
        return asdict(self)


def verdicts(experiments: Experiments) -> list[Verdict]:
    """The verdicts on what is finished, in the order of the paper."""
    return [
        *_figure_1(),
        *(_table_1(experiments.trees) if experiments.trees is not None else []),
        *(_figure_2(experiments.lengths) if experiments.lengths is not None else []),
        *(_figure_3(experiments.given) if experiments.given is not None else []),
        *(_supplement(experiments.supplement) if experiments.supplement is not None else []),
    ]


def _figure_1() -> list[Verdict]:
    """The words of the binary tree."""
    tree = printed.binary_tree()
    words = [tree.word(u) for u in range(tree.n_nodes)]
    same = tuple(words) == printed.FIGURE_1_WORDS
    shown = " ".join(word or "∅" for word in words)
    return [
        Verdict(
            "Figure 1", "nodes of the binary tree, N = 3", " ".join(w or "∅" for w in printed.FIGURE_1_WORDS), shown,
            "reproduced" if same else "differs", "words of hd.Tree.regular(2, 3)",
        )
    ]  # fmt: skip


def _table_1(trees: Table1) -> list[Verdict]:
    """The exact value, Do's bound and every row of Table I."""
    observed_value = f"{trees.summed_out.value:.4f}"
    rows = [
        Verdict(
            "Section IV, Table I", "exact divergence of the trees", f"{printed.TREES_EXACT:.3f}",
            f"{trees.joint.value:.10g}", _digits(trees.joint.value, printed.TREES_EXACT, 3),
            "exact for the joint law of states and observations; what is observed differs less",
            observed_value,
        ),
        Verdict(
            "Section IV", "Do's bound on the trees", f"{printed.TREES_EXACT:.3f}", f"{trees.do.value:.10g}",
            _digits(trees.do.value, printed.TREES_EXACT, 3),
            "equal to the joint divergence, and a strict upper bound on the observed one",
            observed_value,
        ),
    ]  # fmt: skip
    drawn = {
        estimate.n_samples: (estimate, observed)
        for estimate, observed in zip(trees.estimates, trees.observed, strict=True)
    }
    for row in printed.TABLE_1:
        place, what = f"Table I, {_power(row.trials)} trials", "Monte Carlo, 95 % interval"
        printed_row = f"{row.estimate:.3f} [{row.lower:.3f}, {row.upper:.3f}]"
        if row.trials in drawn:
            ours, observed = drawn[row.trials]
            word, reason = _random(row, ours)
            rows.append(Verdict(place, what, printed_row, _interval(ours), word, reason, _interval(observed)))
        elif row.trials not in trees.asked:
            rows.append(Verdict(place, what, printed_row, "", "not drawn", "fewer trials were asked for"))
    return rows


def _figure_2(lengths: Figure2) -> list[Verdict]:
    """The stationary law and the curves of Figure 2."""
    same = np.allclose(lengths.stationary, printed.STATIONARY, rtol=1e-12)
    inside = sum(
        abs(estimate.value - exact.value) <= NEAR * (estimate.std_error or 0.0)
        for estimate, exact in zip(lengths.estimates, lengths.joint, strict=True)
    )
    last = lengths.joint[-1].value / lengths.lengths[-1]
    return [
        Verdict(
            "Supplement", "stationary law of theta_1", "(2/3, 1/3)",
            "(" + ", ".join(f"{value:.6g}" for value in lengths.stationary) + ")",
            "reproduced" if same else "differs", "by elimination, no eigenvectors",
        ),
        Verdict(
            "Figure 2", "D / N over N, exact, Monte Carlo and rate", "a picture",
            f"{last:.6f} at N = {lengths.lengths[-1]}, rate {lengths.joint_rate.value:.12g}", "redrawn",
            f"nothing printed to compare; {inside} of our {len(lengths.estimates)} estimates of "
            f"{printed.FIGURE_2_TRIALS} trials lie within {NEAR:g} standard errors of the exact value",
            f"rate {lengths.observed_rate.value:.12g}",
        ),
    ]  # fmt: skip


def _figure_3(given: Figure3) -> list[Verdict]:
    """The curves of Figure 3."""
    exact = dict(zip(given.lengths, given.posterior, strict=True))
    inside = sum(
        abs(estimate.value - exact[n].value) <= NEAR * (estimate.std_error or 0.0)
        for n, estimate in zip(given.sampled, given.estimates, strict=True)
    )
    first, last = given.posterior[0].value, given.posterior[-1].value
    return [
        Verdict(
            "Figure 3", f"posterior divergence over N = 5 to {given.lengths[-1]}, exact and Monte Carlo", "a picture",
            f"{first:.6f} at N = {given.lengths[0]}, {last:.6f} at N = {given.lengths[-1]}", "redrawn",
            f"nothing printed to compare; {inside} of our {len(given.estimates)} estimates lie within {NEAR:g} "
            "standard errors of the exact value",
            f"on average over data {given.expected[-1].value:.4f} at N = {given.sampled[-1]}",
        )
    ]  # fmt: skip


def _supplement(example: Supplement) -> list[Verdict]:
    """The numbers of the supplement's example."""
    observed = f"{example.observed.value:.12g}"
    equal = example.joint.value == example.do.value or abs(example.joint.value / example.do.value - 1) < 1e-14
    relabelled = "; no relabelling of states and symbols gives more than {:.3g}"
    return [
        Verdict(
            "Supplement, N = 10", "P(S = s | X = x) under theta_1", "0.91", f"{example.path_p:.5g}",
            _digits(example.path_p, printed.SUPPLEMENT["theta_1"], 2),
            "from the printed parameters" + relabelled.format(example.relabelled["theta_1"]),
        ),
        Verdict(
            "Supplement, N = 10", "P(S = s | X = x) under theta_0", "0.10", f"{example.path_q:.5g}",
            _digits(example.path_q, printed.SUPPLEMENT["theta_0"], 2),
            "from the printed parameters" + relabelled.format(example.relabelled["theta_0"]),
        ),
        Verdict(
            "Supplement, N = 10", "D = U", "0.071", f"{example.joint.value:.12g}",
            _digits(example.joint.value, printed.SUPPLEMENT["divergence"], 3),
            "from the printed parameters; the observed divergence is not 0.071 either", observed,
        ),
        Verdict(
            "Proposition", "D = U, Do's formula", "equal", f"{example.joint.value:.12g} and {example.do.value:.12g}",
            "reproduced" if equal else "differs",
            "D is the joint divergence; Do's U bounds the observed one, and stays a bound", observed,
        ),
    ]  # fmt: skip


def _digits(ours: float, theirs: float, decimals: int) -> Word:
    """Whether two numbers agree to the printed decimals."""
    return "reproduced" if f"{ours:.{decimals}f}" == f"{theirs:.{decimals}f}" else "differs"


def _random(row: printed.Row, ours: Divergence) -> tuple[Word, str]:
    """Whether estimates and interval widths of two runs are as close as they should be, and the reason."""
    width = (row.upper - row.lower) / 2
    assert ours.std_error is not None
    apart = abs(row.estimate - ours.value) / hypot(width / Z95, ours.std_error)
    half = Z95 * ours.std_error
    rounding = 0.001  # of two printed ends
    alike = abs(width - half) <= WIDTHS * half + rounding
    widths = f"half-widths {width:.4f} and {half:.4f}"
    reason = f"draws and seed are not printed; {apart:.1f} combined standard errors apart, {widths}"
    return ("reproduced" if apart <= NEAR and alike else "differs"), reason


def _interval(estimate: Divergence) -> str:
    """An estimate with its 95 % interval."""
    return f"{estimate.value:.4f} [{estimate.lower:.4f}, {estimate.upper:.4f}]"


def _power(trials: int) -> str:
    """A power of ten as the paper writes it."""
    return f"10^{len(str(trials)) - 1}"
