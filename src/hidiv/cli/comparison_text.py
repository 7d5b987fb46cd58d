"""A comparison in words: a table of the quantities, what they mean, what is infinite and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.cli.text_tables import Row, table
from hidiv.errors import counted

if TYPE_CHECKING:
    from hidiv.divergences.comparison import Comparison
    from hidiv.divergences.result import Divergence, Parts
    from hidiv.models.model import Model

Beside = dict[str, "Divergence"]  # Monte Carlo estimates by the quantity they estimate


def in_words(p: Model, found: Comparison, beside: Beside | None = None) -> str:
    """The results as a table, the chain rule below it, then what is infinite, what is missing and what each means."""
    from hidiv.divergences.quantities import MEANINGS

    beside = beside or {}
    lines = [found.subject, "", table(_rows(p, found, beside))]
    notes = [
        said for said in (found.chain_rule, *_joint_notes(found), *found.infinite, *found.absent) if said is not None
    ]
    lines += ["", *notes] if notes else []
    told = [name for name in MEANINGS if name != "do_bound" and getattr(found, name) is not None]
    if found.rates.joint is not None and "joint" not in told:
        told.insert(0, "joint")
    lines += ["", *(f"{name.replace('_', ' ')}: {MEANINGS[name]}" for name in told)]
    return "\n".join(lines)


def _joint_notes(found: Comparison) -> list[str]:
    """What the joint divergence of mixtures compares."""
    return [] if found.joint is None else [f"joint: {note}" for note in found.joint.notes]


def _rows(p: Model, found: Comparison, beside: Beside) -> list[Row]:
    rows: list[Row] = []
    joint = found.joint if found.joint is not None else found.joint_per_node
    if joint is not None:
        rows.append(divergence_row("joint divergence" if joint.per is None else "joint divergence per node", joint))
        rows += estimate_rows(beside, "joint")
        if joint.parts is not None:
            rows += part_rows(p, joint.parts)
    if found.joint is not None and found.joint_per_node is not None:
        rows.append(("  per node", found.joint_per_node.value, found.unit))
    if found.alignment is not None and found.joint_aligned is not None:
        rows.append(("  with q's states aligned", found.joint_aligned.value, _alignment(found)))
    if found.observed is not None:
        rows.append(divergence_row("observed divergence", found.observed))
        rows += estimate_rows(beside, "observed")
    if found.do_bound is not None:
        rows.append(("  at most, by Do's bound", found.do_bound.value, "equal to the joint divergence"))
    if found.expected_posterior is not None:
        rows.append(divergence_row("expected posterior", found.expected_posterior))
    if found.posterior is not None:
        rows.append(divergence_row("posterior divergence", found.posterior))
        rows += estimate_rows(beside, "posterior")
    rates = [(name, rate) for name in found.rates if (rate := found.rates[name]) is not None]
    if rates:
        rows.append(("rates of a long chain", None, ""))
        rows += [divergence_row(f"  {name.replace('_', ' ')}", rate) for name, rate in rates]
    return rows


def divergence_row(label: str, found: Divergence) -> Row:
    """A result with its unit and its standing; how wide a certified interval is, the error of an estimate."""
    said = f"{found.measure}, {found.status}"
    if found.std_error is not None:
        said += f", standard error {found.std_error:.2g}"
    elif found.error is not None:
        said += f", error about {found.error:.2g}"
    elif found.status == "certified" and not found.infinite and found.lower is not None and found.upper is not None:
        said += f" within {(found.upper - found.lower) / 2:.2g}"
    return label, found.value, said


def _alignment(found: Comparison) -> str:
    assert found.alignment is not None
    order, ties = found.alignment.permutation, found.alignment.ties
    if list(order) == sorted(order):
        said = "as labelled"
    else:
        said = "in the order " + " ".join(str(s) for s in order[:20]) + (" ..." if len(order) > 20 else "")
    if found.alignment.infinite:
        said += f", {counted(found.alignment.infinite, 'term')} still infinite"
    if not found.alignment.optimal:
        return f"{said}, the best order found"
    return f"{said}, the best of all orders" + (f", {ties} more as good" if ties else "")


def estimate_rows(beside: Beside, name: str) -> list[Row]:
    """The Monte Carlo estimate that stands beside another value, if there is one."""
    found = beside.get(name)
    if found is None:
        return []
    error = "" if found.std_error is None else f"+- {found.std_error:.2g} standard error, "
    said = [f"{error}{counted(found.n_samples or 0, 'draw')}", found.status, *found.notes]
    return [("  by Monte Carlo", found.value, ", ".join(said))]


def part_rows(p: Model, parts: Parts) -> list[Row]:
    """Initial law, transition rows and emission states, the largest contributions of many groups first."""
    rows: list[Row] = [("  initial law", parts.initial, "")]
    for title, whole, pieces, word in (
        ("  transition rows", parts.transition, parts.rows, "from"),
        ("  emission states", parts.emission, parts.states, "in"),
    ):
        rows.append((title, whole, ""))
        if pieces.ndim == 1:
            rows += [(f"    {word} {state_name(p, s)}", float(piece), "") for s, piece in enumerate(pieces)]
        else:
            rows += [(f"    group {g}", float(piece.sum()), "") for g, piece in enumerate(pieces)][:20]
    return rows


def state_name(model: Model, state: int) -> str:
    """A state by its name, or its number."""
    return f"state {state}" if model.state_names is None else model.state_names[state]
