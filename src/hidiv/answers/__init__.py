"""Questions about models answered in words, with a test or a bound: same or not, how many states, which is which.

differ: `differ`, do groups of sequences differ.
difference: its result, `Difference` and `GroupPair`.
grouped_data: groups of sequences as one forest, with strata and blocks.
permutation: the permutation test of scores.
fit_many: `fit_many`, one model for each of many data sets.
jobs: independent pieces of work in threads, processes or on Dask.
"""
