"""The picture of "Which divergence do I want?", drawn from computed numbers when the pages are built."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import hidiv as hd

HALF = [0.5, 0.5]
PAIRS = {
    "the paper's chains": (
        hd.Model(HALF, [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])),
        hd.Model(HALF, [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]])),
    ),
    "states that mean different things": (
        hd.Model(HALF, [[0.6, 0.4], [0.4, 0.6]], hd.Categorical([[0.7, 0.3], [0.3, 0.7]])),
        hd.Model(HALF, [[0.2, 0.8], [0.8, 0.2]], hd.Categorical([[13 / 30, 17 / 30], [17 / 30, 13 / 30]])),
    ),
}


def three_divergences(path: Path) -> None:
    """One bar a pair: the joint rate, cut into the observed one and the expected posterior one."""
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    for row, (p, q) in enumerate(PAIRS.values()):
        joint, observed = hd.joint_kl_rate(p, q).value, hd.observed_kl_rate(p, q).value
        axes.barh(row, observed, color="#0b5394", label="observed: what can be seen" if row == 0 else None)
        axes.barh(
            row, joint - observed, left=observed, color="#d9d9d9", hatch="///", edgecolor="#7f7f7f",
            label="expected posterior: only about hidden states" if row == 0 else None,
        )  # fmt: skip
        axes.text(joint + 0.008, row, f"joint {joint:.3f}\nobserved {observed:.3g}", va="center", fontsize=9)
    axes.set_yticks(range(len(PAIRS)), list(PAIRS))
    axes.invert_yaxis()
    axes.set_xlim(0, 0.72)
    axes.set_xlabel("divergence rate, nats per observation")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    three_divergences(Path(__file__).parent / "pictures" / "three_divergences.svg")
