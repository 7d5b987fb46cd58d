"""Divergences of all pairs of two lists of models.

kl.py                     pairwise_kl: checks its arguments, computes the matrix at once or makes a plan and fills it
pairwise.py               pairwise: the same by any measure
matrix.py                 PairwiseMatrix, the result, and its form in files

How the matrix is computed:
plan.py                   the matrix cut into blocks, and the protocol `Pairs` that each quantity implements
executors.py              blocks computed in threads, processes or on a Dask cluster, with one BLAS thread
storage.py                blocks kept in memory or in a zarr store; a fingerprint tells stores of other inputs apart

Joint and aligned divergences:
joint_pairs.py            all joint divergences: the product, and close pairs directly; as one matrix or by block
operands.py               models of one shape as p or q, and p's expected visits on the tree
matrix_product.py         the matrix product; second_order.py the one for models near each other
direct.py                 listed pairs one by one, accurate however close; q's states as labelled or as emissions match
aligned_pairs.py          the best order of q's states for every pair
label_note.py             a note where labels do not seem to be common

Other measures:
measure_pairs.py          product kernels in one recursion, those that are quick pair by pair
overlap_draws.py          Bhattacharyya, Hellinger, total variation, Bayes error and Jensen-Shannon by shared draws

Posterior divergences:
posterior_pairs.py        the product given evidence

Observed divergences:
observed_choice.py        variational or Monte Carlo, as asked for or as a check decides; upper bounds by joint ones
observed_variational.py   the variational recursion, and the divergences of states it needs
observed_check.py         the approximation compared with draws for some pairs
observed_draws.py         Monte Carlo: a fixed number of draws scored under all models of one shape together
observed_rows.py          Monte Carlo to a tolerance: the draws of one p scored under every q, with controls
"""
