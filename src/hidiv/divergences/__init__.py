"""Divergences of two models: what is compared, how far the number can be trusted, why it is infinite.

Everything goes through a `Pair`, the two models on a tree, checked once; what several quantities need is a function of
the pair, whose result `pair.once` keeps.

    pair.py             Pair: models adapted, checked against each other and the tree; what is computed once
    quantities.py       names, meanings, statuses, units and JSON version of the quantities
    result.py           Divergence and its Parts; numeric.py lets it be used as a number, saved_checks.py its files
    infinite.py         the one place that builds an infinite divergence; the reasons, in words, come from
                        joint/local_terms.py (places without mass) and observed/support/ (words q cannot show)
    joint/              the joint divergence, its rate, Do's bound, Renyi orders, inward quantities
    posterior/          the posterior divergence, in batches, and its expectation
    observed/           the observed divergence and its rate
    alignment/          the order of q's states that fits p best
    equivalence/        whether two models are the same process, and the smallest model of one
    measures/           product kernels, overlaps, distances of stationary chains
    compare.py          all of them side by side; comparison.py holds the result
    montecarlo.py       the plain estimate of any of the three
    forest.py           several independent trees, whose divergences add up
    telling_apart/      how many observations tell two models apart
"""
