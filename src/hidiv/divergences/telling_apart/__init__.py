"""How many observations tell two models apart.

tell_apart.py        samples_to_tell_apart: Wald's approximation and the mean of simulated tests
sequential_test.py   the sequential test, simulated on chains or whole trees
"""
