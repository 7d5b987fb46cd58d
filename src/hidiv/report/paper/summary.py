"""The regenerated paper as text: tables of verdicts and experiments, and statements."""

from __future__ import annotations

from collections import Counter

from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Table1
from hidiv.report.paper.verdicts import MEANING, Verdict, statements


def counted(verdicts: list[Verdict]) -> str:
    """'9 reproduced, 3 differ, 2 cannot be'."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    words = {"reproduced": "reproduced", "differs": "differ", "cannot be": "cannot be"}
    return ", ".join(f"{counts[key]} {word}" for key, word in words.items())  # type: ignore[index]


def markdown(experiments: Experiments, verdicts: list[Verdict], how: str) -> str:
    """The text of summary.md."""
    lines = [
        "# The paper, regenerated",
        "",
        "Perduca and Nuel, *Exact computation of Kullback-Leibler distance for hidden Markov trees and models*.",
        f"{how} Nats throughout.",
        "",
        f"**{len(verdicts)} printed numbers and figures: {counted(verdicts)}.**",
        "",
        *(f"- *{word}*: {meaning}." for word, meaning in MEANING.items()),
        "",
        "| where | what | printed | ours | observed | verdict | why |",
        "|---|---|---|---|---|---|---|",
        *(_row(v.place, v.what, v.printed, v.ours, v.observed, f"**{v.verdict}**", v.reason) for v in verdicts),
        "",
        "The paper's divergence is the joint one, of hidden states and observations together. The column *observed* is",
        "the divergence of the observations alone, which is never larger and is what an observer can tell.",
        "",
        *_missing(experiments),
        "## Figure 1",
        "",
        "![the binary tree with its node words](figure-1.svg)",
        "",
    ]
    if experiments.trees is not None:
        picture = "![estimates over the number of trials](table-1.svg)"
        lines += ["## Table I", "", *_table_1(experiments.trees), "", picture, ""]
    if experiments.lengths is not None:
        picture = "![divergence per step over N](figure-2.svg)"
        lines += ["## Figure 2", "", *_figure_2(experiments.lengths), "", picture, ""]
    if experiments.given is not None:
        picture = "![posterior divergence over N](figure-3.svg)"
        lines += ["## Figure 3", "", *_figure_3(experiments.given), "", picture, ""]
    lines += ["## What the paper says in words", ""]
    for statement, finding in statements(experiments):
        lines += [f"- {statement}", f"  {finding}"]
    return "\n".join(lines) + "\n"


def _missing(experiments: Experiments) -> list[str]:
    """A line about what is not finished, if anything."""
    missing = experiments.missing
    return [f"**Not finished: {', '.join(missing)}.** The run was stopped before that.", ""] if missing else []


def terminal(verdicts: list[Verdict]) -> str:
    """The verdicts as lines for a terminal."""
    place = max(len(v.place) for v in verdicts)
    lines = []
    for v in verdicts:
        lines.append(f"{v.verdict:<10}  {v.place:<{place}}  {v.what}")
        observed = f"; observed {v.observed}" if v.observed else ""
        lines.append(f"{'':<10}  {'':<{place}}  printed {v.printed}; ours {v.ours}{observed}")
        if v.verdict != "reproduced":
            lines.append(f"{'':<10}  {'':<{place}}  {v.reason}")
    return "\n".join([*lines, "", f"{len(verdicts)} printed numbers and figures: {counted(verdicts)}"])


def _table_1(trees: Table1) -> list[str]:
    """Table I in Markdown."""
    lines = ["| trials | joint, estimate | 95 % | observed, estimate | 95 % |", "|---|---|---|---|---|"]
    for joint, observed in zip(trees.estimates, trees.observed, strict=True):
        cells = [f"{joint.n_samples}"]
        for one in (joint, observed):
            cells += [f"{one.value:.4f}", f"[{one.lower:.4f}, {one.upper:.4f}]"]
        lines.append(_row(*cells))
    return [*lines, "", f"Joint, exact: {trees.joint.value:.15g}. Do's bound: {trees.do.value:.15g}."]


def _figure_2(chains: Figure2) -> list[str]:
    """The numbers of Figure 2 as a table in Markdown."""
    lines = ["| N | joint / N, exact | Monte Carlo / N, 95 % | observed / N |", "|---|---|---|---|"]
    for n, joint, drawn, observed in zip(chains.lengths, chains.joint, chains.estimates, chains.observed, strict=True):
        interval = f"{drawn.value / n:.4f} [{(drawn.lower or 0) / n:.4f}, {(drawn.upper or 0) / n:.4f}]"
        lines.append(_row(str(n), f"{joint.value / n:.9f}", interval, f"{observed.value / n:.9f} ({observed.status})"))
    rates = f"Rates: joint {chains.joint_rate.value:.15g} (exact), observed {chains.observed_rate.value:.13g}"
    return [*lines, "", f"{rates} ({chains.observed_rate.status})."]


def _figure_3(given: Figure3) -> list[str]:
    """The numbers of Figure 3 as a table in Markdown."""
    exact = dict(zip(given.lengths, zip(given.posterior, given.log_ratios, strict=True), strict=True))
    lines = [
        "| N | posterior, exact | Monte Carlo, 95 % | its mean over data | log p(x)/q(x) of the evidence |",
        "|---|---|---|---|---|",
    ]
    for n, drawn, expected in zip(given.sampled, given.estimates, given.expected, strict=True):
        posterior, ratio = exact[n]
        interval = f"{drawn.value:.4f} [{drawn.lower:.4f}, {drawn.upper:.4f}]"
        lines.append(_row(str(n), f"{posterior.value:.9f}", interval, f"{expected.value:.9f}", f"{ratio:.6f}"))
    return lines


def _row(*cells: str) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
