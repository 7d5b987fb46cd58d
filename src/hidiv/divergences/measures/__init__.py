"""Measures of two models beside the Kullback-Leibler divergences (docs/measures.md compares them).

measure.py                  Measure, the result: a number with status, bounds, logarithm and complement
product_kernel.py           the joint product kernel and the co-emission probability
second_order.py             one less a normalised kernel, from the difference of the models
"""
