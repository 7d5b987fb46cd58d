"""Statements of the paper that no single number settles, each with what we find."""

from __future__ import annotations

import numpy as np

from hidiv.report.paper import printed
from hidiv.report.paper.experiments import Experiments, Figure2, Table1


def statements(experiments: Experiments) -> list[tuple[str, str]]:
    """Pairs of a statement and what we find."""
    return [*_about_the_bound(experiments.trees, experiments.lengths), *_about_formulas()]


def _about_the_bound(trees: Table1 | None, chains: Figure2 | None) -> list[tuple[str, str]]:
    """The statement about Do's bound, which needs both experiments."""
    if trees is None or chains is None:
        return []
    return [
        (
            "Do's bound is not a bound but the actual value of the divergence.",
            "It is the value of the joint divergence. Do bounds the divergence of what is observed, which is "
            "smaller: "
            f"{chains.observed_rate.value:.6f} a step where the joint one is {chains.joint_rate.value:.6f}, "
            f"{trees.best_observed.value:.4f} where the trees' joint one is {trees.joint.value:.4f}. It stays a bound.",
        )
    ]


def _about_formulas() -> list[tuple[str, str]]:
    """Statements about formulas, checked on the paper's chains."""
    transition = printed.chains()[0].transitions[0]
    values, vectors = np.linalg.eig(transition)
    tilde = (vectors * np.where(np.isclose(values, 1.0), 0.0, values)) @ np.linalg.inv(vectors)
    return [
        (
            "Monte Carlo clearly validates the computations.",
            "It averages the joint log-ratio, so it estimates the joint divergence and cannot tell the two apart.",
        ),
        (
            "The matrix pi tilde (the transition without its eigenvalue 1) is invertible.",
            f"It is singular: its determinant on the paper's chains is {abs(np.linalg.det(tilde)):.1g}. What is "
            "invertible, "
            f"and needed, is I - pi tilde: {np.linalg.det(np.eye(2) - tilde):.3g}.",
        ),
        (
            "The formula for two Gaussians has the same pair of parameters on both sides.",
            "D(N(m1, s1) || N(m0, s0)) is meant; with it Table I comes out.",
        ),
    ]
