"""The observed divergence: of what two models show, their hidden states summed out.

`observed_kl` (kl.py) and `observed_kl_rate` (rate.py) build a `Pair` and a `Budget` (budget.py) and ask choose.py,
whose table says which file answers. Every file in it has `applies(pair)` and `run(pair, budget)`; of the rows that fit
the first that applies counts. A grouped chain is one whose parameters differ from node to node; "any tree" includes
chains. "auto" goes through exact (where the words are few), certified (where it soon is as
narrow as asked), quadrature and montecarlo.

| method | place | states | observations | file |
|---|---|---|---|---|
| exact | chain | any | symbols | enumerated/chain_words.py |
| exact | grouped chain, regular tree, listed tree | any | symbols | enumerated/tree_configurations.py |
| certified | chain | any | symbols | certified/chains.py |
| certified | endless chain | any | symbols | certified/rates.py |
| certified | any tree, endless chain | as many in both, or one process | any | certified/joint_bound.py |
| certified | grouped chain, regular tree | at most 2 | symbols | certified/trees/regular_trees.py |
| certified | listed tree | at most 2 | symbols | certified/trees/listed_trees.py |
| certified | chain, endless chain | at most 2 | normal numbers, counts | certified/number_chains.py |
| certified | any tree, endless chain, until the end | any | any | certified/cheap_bounds.py |
| quadrature | chain, endless chain | at most 2 | one number | quadrature/two_state_chains.py |
| quadrature | grouped chain, regular tree, listed tree | at most 2 | one number | quadrature/two_state_trees.py |
| montecarlo | any tree | any | any | sampled/tree_estimate.py |
| montecarlo | endless chain | any | any | sampled/rate_estimate.py |
| montecarlo | until the end | any | any | sampled/until_end_estimate.py |
| variational | any tree | any | any | variational.py |

Besides:

- choose.py: the table, and how "auto" goes through it; log-normal observations become normal ones first
- budget.py: tolerances, seed and limits of a call, and the operations a search may still do
- interval.py: intervals that hold a value, and NotApplicable
- alphabets.py: chains and trees with a finite alphabet, as arrays
- support/: whether p can show what q cannot
"""
