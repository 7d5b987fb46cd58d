"""Plots of results on matplotlib axes: every function takes what was computed, draws it, and returns the axes.

parts_plot: `parts`, a joint divergence by row and state.
differences_plot: `differences`, the parameters of two models as a heat map.
difference_plot: `difference`, what `differ` found about groups of sequences.
profile_plot: `profile`, the share of every node, along a chain or on a drawn tree.
influence_plot: `influence`, how much each observation changes what is known of the states.
over_length_plot: `over_length`, divergences over the length of a chain, and their rate.
convergence_plot: `convergence`, Monte Carlo estimates over the number of draws.
pairwise_plot: `pairwise`, all pairs of many models as a matrix, with a dendrogram.
state_diagram_plot: `state_diagram`, states and arrows as wide as their probability.
emissions_plot: `emissions`, what two models show in each state.
diagram_layout: where to draw states and the arrows between them.
emission_curves: the laws of two models as curves, bars or ellipses.
reduction_plot: `reduction`, what smaller models lose; choice_plot: `choice`, fits with different numbers of states.
equivalence_plot: `equivalence` and `minimal`, a word that tells two models apart and which states are one.
agreement_plot: `agreement` and `matching`, which models show the same and how sure their states are matched.
interval_plot: `interval`, a divergence between two fits with its interval, and what a bootstrap drew.
parameters_plot: `standard_errors`, the parameters of a fit with their intervals; `score`, a gradient.
style: colours, markers, frames and labels that all plots share.
tree_drawing: where to draw the nodes of a tree.
"""

from __future__ import annotations

from hidiv.plots.agreement_plot import agreement as agreement
from hidiv.plots.agreement_plot import matching as matching
from hidiv.plots.choice_plot import choice as choice
from hidiv.plots.convergence_plot import convergence as convergence
from hidiv.plots.difference_plot import difference as difference
from hidiv.plots.differences_plot import differences as differences
from hidiv.plots.emissions_plot import emissions as emissions
from hidiv.plots.equivalence_plot import equivalence as equivalence
from hidiv.plots.equivalence_plot import minimal as minimal
from hidiv.plots.influence_plot import influence as influence
from hidiv.plots.interval_plot import interval as interval
from hidiv.plots.over_length_plot import over_length as over_length
from hidiv.plots.pairwise_plot import pairwise as pairwise
from hidiv.plots.parameters_plot import score as score
from hidiv.plots.parameters_plot import standard_errors as standard_errors
from hidiv.plots.parts_plot import parts as parts
from hidiv.plots.profile_plot import profile as profile
from hidiv.plots.reduction_plot import reduction as reduction
from hidiv.plots.state_diagram_plot import state_diagram as state_diagram

__all__ = [
    "agreement", "choice", "convergence", "difference", "differences", "emissions", "equivalence", "influence",
    "interval", "matching", "minimal", "over_length", "pairwise", "parts", "profile", "reduction", "score",
    "standard_errors", "state_diagram",
]  # fmt: skip
