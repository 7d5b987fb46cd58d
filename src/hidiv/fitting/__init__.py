"""Models from evidence: expectation-maximisation, choice of a model, bootstrap of a divergence.

fit: `fit`, and a single climb from a model.
fit_result: `FitResult`.
selection: `choose` and `Choice`.
bootstrap: `bootstrap_divergence`, and the null hypothesis of its p-value.
bootstrap_result: `BootstrapResult` and how it is computed from replicates.
bootstrap_measures: the divergences that a bootstrap takes.
simulation: evidence drawn in the shape of other evidence.

In the order in which a fit uses them:
evidence_forest: all trees and their evidence, one after the other.
shapes: the form of the model with its families, its number of free parameters, and checks of a start.
initialise: starts.
restarts: climbs from many starts in threads, further ones from near the best maxima.
em: one climb, and notes on states that it left empty or collapsed.
draft: a model during a climb, unchecked.
expected_counts: expected counts of all trees under a model.
maximisation: the next model from counts.
"""
