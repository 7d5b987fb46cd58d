"""Estimates by Monte Carlo, with control variates of known mean and standard errors that allow for rare events.

Three files answer for the three places where models are compared; the others are the storeys they share, from a draw to
the result:

| storey | file |
|---|---|
| chains and trees of known size | tree_estimate.py, which draws trees itself and chains by chain_draws.py |
| endless chains | rate_estimate.py, by the last steps of chains (last_steps.py) |
| chains that end by themselves | until_end_estimate.py |
| drawing | draws.py: what is drawn, weights of observations, portions side by side; chain_draws.py, last_steps.py |
| rare events | events.py: what is counted in draws; rare_symbols.py: symbols that a state seldom shows |
| importance sampling | rare_moves.py: rare transitions and symbols made likely, and weighted |
| controls | controls.py: posterior counts of p, less their means; cross_fitting.py: means with controls |
| controls of trees | tree_controls.py: what nodes and edges show, or what states do, without messages |
| error allowance | standard_errors.py: means and their errors; rare.py: what rare events may add to them |
| words | estimate_words.py: how it was drawn, for the notes |
| stopping | stopping.py: a pilot chooses the controls, then draws until the standard error is as small as asked |

Chains with finitely many observations, or one number a node, have a control that is fitted beforehand: a function of
both filters, linear and quadratic, that foretells the divergences to come (`ChainPair.fitted`,
recursions/value_function.py). What it exceeds its expectation by has mean zero whatever the fit, and on models with ten
and more states it divides the variance of a draw by hundreds.

No estimate exceeds the joint divergence: certified/joint_bound.py sees to that.
"""
