"""The divergence of what is hidden given what is known.

kl.py         posterior_kl, the tables of both models on the evidence, and long chains without tables
pair_rows.py  rows of knowledge under both models: weights and log-ratios
batch.py      posterior_kl_batch: many sequences in one call
expected.py   its expectation over observations of p, joint - observed
"""
