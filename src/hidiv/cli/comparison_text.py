"""A comparison as text: a table of the quantities, their meanings, what is infinite and what is missing."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from hidiv.cli.text_tables import Rounded, Row, table
from hidiv.errors import counted
from hidiv.report.digits import decimals, half_width, is_estimate

if TYPE_CHECKING:
    from hidiv.divergences.comparison import Comparison
    from hidiv.divergences.result import Divergence, Parts
    from hidiv.models.model import Model

FORBIDDEN = 3  # of what one model does and the other forbids that are listed
MOST = 10  # rows or states that are listed; of more, the largest, sorted by size

Estimates = dict[str, "Divergence"]  # Monte Carlo estimates by the quantity they estimate


def in_words(p: Model, q: Model, comparison: Comparison, estimates: Estimates | None = None, tree: Any = None) -> str:
    """What to know first, the results as a table, the chain rule, what is infinite or missing, and meanings."""
    from hidiv.divergences.quantities import MEANINGS, in_names

    estimates = estimates or {}
    lines = [
        comparison.subject,
        "",
        *(_as_options(note) + "\n" for note in comparison.notes),
        table(_rows(p, comparison, estimates, tree)),
    ]
    notes = [
        note
        for note in (
            comparison.chain_rule,
            *comparison.overlap,
            *_joint_notes(comparison),
            *_infinities(p, q, comparison, "level" if getattr(tree, "kind", None) == "regular" else "group"),
            *comparison.absent,
        )
        if note is not None
    ]
    lines += ["", *notes] if notes else []
    explained = [name for name in MEANINGS if name != "do_bound" and getattr(comparison, name) is not None]
    if comparison.rates.joint is not None and "joint" not in explained:
        explained.insert(0, "joint")
    lines += [
        "",
        *(f"{name.replace('_', ' ')}: {in_names(MEANINGS[name], comparison.names)}" for name in explained),
    ]
    return "\n".join(lines)


def _as_options(note: str) -> str:
    """A note with the options of the command in place of the arguments of the function."""
    return note.replace('initial="stationary" or initial=False', "--initial stationary or --initial none")


def _joint_notes(comparison: Comparison) -> list[str]:
    """The notes of the joint divergence, for example what it compares in mixtures; not what was said first."""
    from hidiv.divergences.quantities import in_names

    notes = () if comparison.joint is None else comparison.joint.notes
    told = [in_names(note, comparison.names) for note in notes]
    return [f"joint: {note}" for note in told if not any(note in first for first in comparison.notes)]


def _infinities(p: Model, q: Model, comparison: Comparison, word: str) -> list[str]:
    """What is infinite, and the likeliest of what q forbids."""
    if not comparison.infinite:
        return []
    from hidiv.report.causes import guilty, infinite_quantities

    names, reasons = infinite_quantities(p, comparison)
    lines = ["infinite: " + ", ".join(names), *reasons]
    joint, (first, second) = comparison.joint, comparison.names
    if joint is not None and joint.infinite and joint.parts is not None:
        places = guilty(p, q, joint.parts, comparison.names, word)
        lines.append(f"what {first} does and {second} forbids{', the likeliest first' if len(places) > 1 else ''}:")
        lines += [f"  {place}" for place in places[:FORBIDDEN]]
        if len(places) > FORBIDDEN:
            lines.append(f"  and {len(places) - FORBIDDEN} more, which the page of hidiv report lists")
    return lines


def _observed_rows(comparison: Comparison, estimates: Estimates) -> list[Row]:
    rows: list[Row] = []
    if comparison.observed is not None:
        rows += [divergence_row("observed divergence", comparison.observed), *estimate_rows(estimates, "observed")]
    if comparison.do_bound is not None:
        rows.append(("  at most, by Do's bound", comparison.do_bound.value, "equal to the joint divergence"))
    return rows


def _rows(p: Model, comparison: Comparison, estimates: Estimates, tree: Any) -> list[Row]:
    rows: list[Row] = []
    joint = comparison.joint if comparison.joint is not None else comparison.joint_per_node
    if joint is not None:
        rows.append(divergence_row("joint divergence" if joint.per is None else "joint divergence per node", joint))
        rows += estimate_rows(estimates, "joint")
        if joint.parts is not None:
            rows += part_rows(p, joint.parts, "level" if getattr(tree, "kind", None) == "regular" else "group")
    if comparison.joint is not None and comparison.joint_per_node is not None:
        rows.append(("  per node", comparison.joint_per_node.value, comparison.unit))
    if comparison.alignment is not None and comparison.joint_aligned is not None:
        rows.append(("  with the states aligned", comparison.joint_aligned.value, _alignment(comparison)))
    seen, observed = _observed_rows(comparison, estimates), comparison.observed
    finite = observed is not None and not observed.infinite
    rows = [*seen, *rows] if finite and joint is not None and joint.infinite else [*rows, *seen]
    if comparison.expected_posterior is not None:
        rows.append(divergence_row("expected posterior", comparison.expected_posterior))
    if comparison.posterior is not None:
        rows.append(divergence_row("posterior divergence", comparison.posterior))
        rows += estimate_rows(estimates, "posterior")
    rates = [(name, rate) for name in comparison.rates if (rate := comparison.rates[name]) is not None]
    if rates:
        rows.append(("rates of a long chain", None, ""))
        rows += [divergence_row(f"  {name.replace('_', ' ')}", rate) for name, rate in rates]
    return rows


def divergence_row(label: str, result: Divergence) -> Row:
    """A row with value, unit and status, and the width of a certified interval or the error of an estimate."""
    remark = f"{result.measure}, {result.status}"
    if is_estimate(result):
        half = half_width(result) or 0.0
        return label, Rounded(result.value, decimals(half)), f"{remark} ± {_fixed(half)} (95 % interval)"
    if result.error is not None:
        remark += f", error about {result.error:.2g}"
    elif result.status == "certified" and not result.infinite and result.lower is not None and result.upper is not None:
        remark += f" within {(result.upper - result.lower) / 2:.2g}"
    return label, result.value, remark


def _alignment(comparison: Comparison) -> str:
    """The order of q's states, and whether it is the best of all."""
    assert comparison.alignment is not None
    order, ties = comparison.alignment.permutation, comparison.alignment.ties
    if list(order) == sorted(order):
        order_text = "as labelled"
    else:
        order_text = "in the order " + " ".join(str(s) for s in order[:20]) + (" ..." if len(order) > 20 else "")
    if comparison.alignment.infinite:
        order_text += f", {counted(comparison.alignment.infinite, 'term')} still infinite"
    if not comparison.alignment.optimal:
        return f"{order_text}, the best order found"
    return f"{order_text}, the best of all orders" + (f", {ties} more as good" if ties else "")


def estimate_rows(estimates: Estimates, name: str) -> list[Row]:
    """The row of the Monte Carlo estimate of a quantity, if there is one."""
    estimate = estimates.get(name)
    if estimate is None:
        return []
    half = half_width(estimate)
    if not is_estimate(estimate) or half is None:
        remarks = [counted(estimate.n_samples or 0, "draw"), estimate.status, *estimate.notes]
        return [("  by Monte Carlo", estimate.value, ", ".join(remarks))]
    remarks = [f"± {_fixed(half)} (95 % interval)", counted(estimate.n_samples or 0, "draw"), *estimate.notes]
    return [("  by Monte Carlo", Rounded(estimate.value, decimals(half)), ", ".join(remarks))]


def _fixed(half: float) -> str:
    """Half an interval with one or two digits."""
    return f"{half:.{max(decimals(half), 0)}f}" if half >= 1e-6 else f"{half:.1e}"


def part_rows(p: Model, parts: Parts, group: str) -> list[Row]:
    """Rows for the initial law, transition rows and emission states; by group or level if the model has several."""
    rows: list[Row] = [("  initial law", parts.initial, "")]
    for title, whole, pieces, word in (
        ("  transition rows", parts.transition, parts.rows, "from"),
        ("  emission states", parts.emission, parts.states, "in"),
    ):
        rows.append((title, whole, ""))
        if pieces.ndim == 1:
            shown = range(len(pieces)) if len(pieces) <= MOST else (-pieces).argsort(kind="stable")[:MOST]
            rows += [(f"    {word} {state_name(p, int(s))}", float(pieces[s]), "") for s in shown]
            if len(pieces) > MOST:
                rest = float(pieces.sum() - pieces[shown].sum()) if isfinite(pieces.sum()) else inf
                rows.append((f"    {len(pieces) - MOST} others together", rest, ""))
        else:
            rows += [(f"    {group} {g}", float(piece.sum()), "") for g, piece in enumerate(pieces)][:20]
    return rows


def state_name(model: Model, state: int) -> str:
    """The name of a state, or its number."""
    return f"state {state}" if model.state_names is None else model.state_names[state]
