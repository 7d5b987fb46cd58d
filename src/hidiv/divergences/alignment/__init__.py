"""The order of q's states that makes the joint divergence smallest.

align.py                align and the alignment of a pair
relabelling_costs.py    what each order costs: infinite terms, and the sum of the others
relabelling_search.py   every order of a few states; quadratic assignment and exchanges for many
"""
