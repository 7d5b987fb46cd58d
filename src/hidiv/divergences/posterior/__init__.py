"""The divergence of what is hidden given what is known.

kl.py         posterior_kl, and the tables of both models on the evidence
batch.py      posterior_kl_batch: many sequences in one call
expected.py   its expectation over observations of p, joint - observed
"""
