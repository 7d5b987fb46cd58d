"""Bounds that hold: an interval around the divergence, and a certificate of what it rests on.

A divergence is a cross-entropy minus an entropy, and both are bounded apart, finer and finer, until that is enough:

| filter or message of | of two states | of more states |
|---|---|---|
| chains of N symbols | log_odds/ | contexts/ and belief_grid/ in turns, block_entropy.py for the entropy |
| endless chains | log_odds/, closed forms in rates.py | contexts/ and belief_grid/ in turns |
| trees | trees/ | cheap_bounds.py |

- relabelled.py: models that are one process up to the names of their states
- chains.py: chains of N symbols
- rates.py: endless chains, by the closed classes of p
- trees/: regular and listed trees with two states
- until_end_bounds.py: chains that end by themselves
- cheap_bounds.py: any tree and any family; also the joint divergence as an upper bound
- refining.py: which method is asked next, and when to stop
- effort.py: operations counted, and the clock that only ends a search
- block_entropy.py: entropies by blocks of symbols
- bounded.py: an interval as the result that callers get
- log_odds/, contexts/, belief_grid/: the methods themselves
"""
