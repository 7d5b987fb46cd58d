"""Families made of families.

product.py  independent groups of columns side by side
mixture/    a component is drawn given the state, then the observation from it
"""
