"""Questions about models answered in words, with a test or a bound: same or not, how many states, which is which.

reduction.py          reduce: how few states are enough, and what is lost
merging.py            models with states merged, cheapest merges first
refitting.py          smaller models fitted to a long draw of a larger one
matching.py           match: the states of many models under one labelling
agreement.py          agreement: do restarts or refits agree
differ.py             `differ`, do groups of sequences differ.
difference.py         its result, `Difference` and `GroupPair`.
grouped_data.py       groups of sequences as one forest, with strata and blocks.
permutation.py        the permutation test of scores.
fit_many.py           `fit_many`, one model for each of many data sets.
jobs.py               independent pieces of work in threads, processes or on Dask.
"""
