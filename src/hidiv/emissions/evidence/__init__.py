"""Two laws and what is known of an observation: the ratio of its weights, and the divergence of what stays hidden.

log_ratios.py            the entrance: `weight_ratio` and `residual`, and the rule for independent columns
intervals.py             both for an interval, as means over weighted points
interval_points.py       a law given an interval as weighted points; ranges of counts, few one by one, many by rules
coordinates.py           coordinates in which continuous laws are smooth between the ends of an interval
symbol_sets.py           sets of symbols
count_tables.py          many small counts, looked up in a table of the numbers that occur
partly_seen_gaussian.py  normal laws with full covariances
"""
