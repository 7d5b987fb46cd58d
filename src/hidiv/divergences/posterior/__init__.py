"""The divergence of what is hidden given what is known.

kl.py              posterior_kl, and the tables of both models on the evidence
pair_rows.py       rows of knowledge under both models: weights and log-ratios
without_tables.py  long chains, whose rows are weighed as the recursion comes to them
batch.py           posterior_kl_batch: many sequences in one call
expected.py        its expectation over observations of p, joint - observed
"""
