"""Bounds that hold: an interval around the divergence, and a certificate of what it rests on.

A divergence is a cross-entropy minus an entropy, and both are bounded apart, finer and finer, until that is enough:

| filter or message of | of two states | of more states |
|---|---|---|
| chains of N symbols | log_odds/ | context_bounds.py and belief_grid/ in turns |
| endless chains | collocation and closed forms in rates.py | context_bounds.py and belief_grid/ in turns |
| trees | trees/ | cheap_bounds.py |

- joint_bound.py: the smallest joint divergence over relabellings, an upper bound; zero for one process relabelled
- chains.py: chains of N symbols
- number_chains.py: two-state chains, also endless ones, of normal numbers and counts
- rates.py: endless chains of symbols, by the closed classes of p
- trees/: regular and listed trees with two states
- cheap_bounds.py: any tree, chains that end by themselves, and any family
- refining.py: which method is asked next and when to stop; an interval as the result that callers get
- many_states.py: upper bounds by revealing hidden states now and then, lower ones by how often symbols show
- context_bounds.py: bounds by the last symbols, whatever came before them
- log_odds/, belief_grid/: the other methods
"""
