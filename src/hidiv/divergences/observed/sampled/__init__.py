"""Estimates by Monte Carlo, with control variates of known mean and standard errors that allow for rare events.

- tree_estimate.py: chains and trees of known size
- rate_estimate.py: endless chains, along paths of long_paths.py
- until_end_estimate.py: chains that end by themselves
- stopping.py: draws until the standard error is as small as asked
- joint_cap.py: no estimate above the joint divergence
- draws.py: what can be drawn and what drawing yields
- chain_draws.py, tree_draws.py, end_draws.py: draws of p with their log-ratios and controls
- chain_counts.py, tree_counts.py: posterior counts of p, less their means, as controls
- cross_fitting.py: means with controls whose coefficients come from other draws
- missed_states.py: what rare states may add that were drawn too seldom
- weighing.py: weights of drawn observations
- workers.py: portions of draws side by side, results in order
"""
