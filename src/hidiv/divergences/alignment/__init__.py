"""The order of q's states that makes the joint divergence smallest.

align.py                align, the alignment of a pair, and the search: every order of a few states, exchanges for many
relabelling_costs.py    what each order costs: infinite terms, and the sum of the others
"""
