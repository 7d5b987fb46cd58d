"""One model and evidence: likelihood, hidden states, influence of observations, and draws.

likelihood: `log_likelihood`, and the likelihoods of many draws of one tree at once.
smoothing: `smooth`, `Smoothed` and `entropy_profile`.
decoding: `viterbi`.
influence: `influence`.
sampling: `sample` and `sample_posterior`.
score: `score`, the gradient of the log-likelihood, and that of many items at once.
parameter_vector: the parameters of a model as one vector, and gradients in it.
rows: evidence as rows of distinct knowledge (`EvidenceRows`), and the row of each node.
weights: from rows to weights of the hidden states, also of evidence far in the tails.
long_chains: the log-likelihood of a long chain, weighed part by part.
model_tables: all of these together, as the tables that a recursion reads.
"""
