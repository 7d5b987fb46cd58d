"""Models from evidence: expectation-maximisation, choice of a model, bootstrap of a divergence.

fit: `fit`, and a single climb from a model.
fit_result: `FitResult`, and the number of free parameters that its AIC and BIC count.
selection: `choose` and `Choice`.
bootstrap: `bootstrap_divergence`, and the null hypothesis of its p-value.
bootstrap_result: `BootstrapResult` and how it is computed from replicates.
bootstrap_measures: the divergences that a bootstrap takes.
parameter_errors: `standard_errors`, errors and intervals of a fit's parameters.
information: the scores of all trees of a forest, and the covariance of a fit by outer products or differences of them.
divergence_interval: `divergence_interval`, by the delta method or by bootstrap.
near_zero: the interval of a divergence, which cannot be negative.
simulation: evidence drawn in the shape of other evidence.

In the order in which a fit uses them:
evidence_forest: all trees and their evidence, one after the other.
shapes: the form of the model with its families, and checks of a start.
initialise: starts.
restarts: climbs from many starts in threads, further ones from near the best maxima; notes on degenerate states.
em: one climb.
em_steps: its two steps, expected counts of all trees under a model and the next model from counts.
"""
