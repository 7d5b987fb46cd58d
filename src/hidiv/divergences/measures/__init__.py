"""Measures of two models beside the Kullback-Leibler divergences (docs/measures.md compares them).

measure.py                  Measure, the result: a number with status, bounds, logarithm and complement
names.py                    the measures by name, for all pairs and the command line

product_kernel.py           the joint product kernel and the co-emission probability
close_models.py             one less a normalised kernel, from the difference of the models

bhattacharyya.py            Bhattacharyya coefficient, Hellinger distance, total variation, Bayes error
jensen_shannon.py           the Jensen-Shannon divergence
overlap.py                  how these are computed: exactly, between bounds, or by draws
bhattacharyya_bounds.py     proven bounds on the Bhattacharyya coefficient, from which all of theirs come
mean_ratio.py               means of functions of the log-ratio, over all words or over draws

stationary_states.py        what measures of stationary chains need
aggregated_wasserstein.py   the aggregated Wasserstein distance
sahraeian_yoon.py           the similarity of Sahraeian and Yoon
"""
