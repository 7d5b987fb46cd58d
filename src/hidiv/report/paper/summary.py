"""The regenerated paper as text: tables of verdicts, claims and experiments, in Markdown and for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hidiv.report.paper.claims import Claim
from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Table1
from hidiv.report.paper.verdicts import MEANING, Verdict

ABOUT = (
    "The paper's divergence is the joint one, of hidden states and observations together. The column observed is the "
    "divergence of the observations alone, which is never larger and is what an observer can tell."
)
SEVERAL = {"differs": "differ", "holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}


class PaperPart(NamedTuple):
    """A table or figure of the paper: its numbers and its picture."""

    title: str
    picture: str  # file name without ending
    caption: str
    head: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    note: str = ""


def counted(words: Iterable[str]) -> str:
    """'9 reproduced, 3 differ, 2 redrawn', each word as often as it is there."""
    counts = Counter(words)
    return ", ".join(f"{count} {SEVERAL.get(word, word)}" for word, count in counts.most_common())


def headline(verdicts: list[Verdict], claims: list[Claim]) -> str:
    """How many of each verdict there are."""
    return (
        f"{len(verdicts)} printed numbers and figures: {counted(v.verdict for v in verdicts)}. "
        f"{len(claims)} claims in words: {counted(c.verdict for c in claims)}."
    )


def meanings(verdicts: list[Verdict]) -> dict[str, str]:
    """What the words mean that occur among the verdicts."""
    words = {v.verdict for v in verdicts}
    return {word: meaning for word, meaning in MEANING.items() if word in words}


def markdown(experiments: Experiments, verdicts: list[Verdict], claims: list[Claim], how: str) -> str:
    """The text of summary.md."""
    lines = [
        "# The paper, regenerated",
        "",
        "Perduca and Nuel, *Exact computation of Kullback-Leibler distance for hidden Markov trees and models*.",
        f"{how} Nats throughout.",
        "",
        f"**{headline(verdicts, claims)}**",
        "",
        *(f"- *{word}*: {meaning}." for word, meaning in meanings(verdicts).items()),
        "",
        *_table(
            ("where", "what", "printed", "ours", "observed", "verdict", "why"),
            ((v.place, v.what, v.printed, v.ours, v.observed, f"**{v.verdict}**", v.reason) for v in verdicts),
        ),
        "",
        ABOUT,
        "",
        *_missing(experiments),
        "## What the paper says in words",
        "",
        *_table(
            ("where", "claim", "verdict", "what we find"),
            ((c.place, c.said, f"**{c.verdict}**", c.found) for c in claims),
        ),
        "",
    ]
    for part in parts(experiments):
        lines += [f"## {part.title}", ""]
        lines += [*_table(part.head, part.rows), ""] if part.head else []
        lines += [part.note, ""] if part.note else []
        lines += [f"![{part.caption}]({part.picture}.svg)", ""]
    return "\n".join(lines)


def _missing(experiments: Experiments) -> list[str]:
    """A line about what is not finished, if anything."""
    missing = experiments.missing
    return [f"**Not finished: {', '.join(missing)}.** The run was stopped before that.", ""] if missing else []


def terminal(verdicts: list[Verdict], claims: list[Claim]) -> str:
    """The verdicts as lines for a terminal."""
    place = max(len(v.place) for v in verdicts)
    lines = []
    for v in verdicts:
        lines.append(f"{v.verdict:<10}  {v.place:<{place}}  {v.what}")
        observed = f"; observed {v.observed}" if v.observed else ""
        ours = f"; ours {v.ours}" if v.ours else ""
        lines.append(f"{'':<10}  {'':<{place}}  printed {v.printed}{ours}{observed}")
        if v.verdict != "reproduced":
            lines.append(f"{'':<10}  {'':<{place}}  {v.reason}")
    lines.append("")
    for c in claims:
        lines += [f"{c.place}: {c.said}", f"  {c.verdict}. {c.found}"]
    words = (f"{word}: {meaning}" for word, meaning in meanings(verdicts).items())
    return "\n".join([*lines, "", *words, "", headline(verdicts, claims)])


def parts(experiments: Experiments) -> list[PaperPart]:
    """The tables and figures that are finished, with their numbers."""
    listed = [PaperPart("Figure 1", "figure-1", "the binary tree with its node words")]
    if experiments.trees is not None:
        listed.append(_table_1(experiments.trees))
    if experiments.lengths is not None:
        listed.append(_figure_2(experiments.lengths))
    if experiments.given is not None:
        listed.append(_figure_3(experiments.given))
    return listed


def _table_1(trees: Table1) -> PaperPart:
    """The rows of Table I, drawn again."""
    rows = []
    for joint, observed in zip(trees.estimates, trees.observed, strict=True):
        cells = [f"{joint.n_samples}"]
        for one in (joint, observed):
            cells += [f"{one.value:.4f}", f"[{one.lower:.4f}, {one.upper:.4f}]"]
        rows.append(tuple(cells))
    note = (
        f"Joint, exact: {trees.joint.value:.15g}. Do's bound: {trees.do.value:.15g}. "
        f"Observed, by quadrature: {trees.summed_out.value:.8f}."
    )
    head = ("trials", "joint, estimate", "95 %", "observed, estimate", "95 %")
    return PaperPart("Table I", "table-1", "estimates over the number of trials", head, rows, note)


def _figure_2(chains: Figure2) -> PaperPart:
    """The numbers of Figure 2."""
    rows = []
    for n, joint, drawn, observed in zip(chains.lengths, chains.joint, chains.estimates, chains.observed, strict=True):
        interval = f"{drawn.value / n:.4f} [{(drawn.lower or 0) / n:.4f}, {(drawn.upper or 0) / n:.4f}]"
        rows.append((str(n), f"{joint.value / n:.9f}", interval, f"{observed.value / n:.9f} ({observed.status})"))
    note = (
        f"Rates: joint {chains.joint_rate.value:.15g} (exact), observed {chains.observed_rate.value:.13g} "
        f"({chains.observed_rate.status})."
    )
    head = ("N", "joint / N, exact", "Monte Carlo / N, 95 %", "observed / N")
    return PaperPart("Figure 2", "figure-2", "divergence per step over N", head, rows, note)


def _figure_3(given: Figure3) -> PaperPart:
    """The numbers of Figure 3."""
    exact = dict(zip(given.lengths, zip(given.posterior, given.log_ratios, strict=True), strict=True))
    rows = []
    for n, drawn, expected in zip(given.sampled, given.estimates, given.expected, strict=True):
        posterior, ratio = exact[n]
        interval = f"{drawn.value:.4f} [{drawn.lower:.4f}, {drawn.upper:.4f}]"
        rows.append((str(n), f"{posterior.value:.9f}", interval, f"{expected.value:.9f}", f"{ratio:.6f}"))
    head = ("N", "posterior, exact", "Monte Carlo, 95 %", "its mean over data", "log p(x)/q(x) of the evidence")
    return PaperPart("Figure 3", "figure-3", "posterior divergence over N", head, rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table in Markdown."""
    head = tuple(head)
    return [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]


def _row(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
