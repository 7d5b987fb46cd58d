"""Recursions on arrays alone: each in numpy, its specification, and, behind `@kernel`, the choice of the compiled one.

`kernels.py` chooses between the two and keeps all numpy twins by name. The files by the folder of kernels/ that has
their compiled form; those marked with a star have none.

Trees without evidence (kernels/joint)
    inward.py             Theorem 1: divergences of subtrees, leaves to root
    state_laws.py         the law of every node's state, root to leaves, expected visits by group, what is possible
    levels.py             the level of every node, and the laws of a homogeneous chain by level
    doubled.py            doubled precision, which the above are carried in
    powers.py *           sums over powers of a stochastic matrix by doubling
    gth.py *              stationary and absorption laws by elimination without subtraction
    subtrees.py *         nodes with equal subtrees, counted together
    terms.py *            second-order terms of divergences, accurate for close models, and sums of logarithms

One model and evidence (kernels/one_model)
    tables.py             where each node looks, and the numbers it reads
    boolean_messages.py   what is possible, decided on zeros alone
    upward.py             messages leaves to root, the log-likelihood
    downward.py           marginals, pairs and entropies, root to leaves
    viterbi.py            the most probable states
    posterior_draws.py    states drawn from the posterior
    node_influence.py     what each observation changes
    expectation.py        expected counts of many trees, for fitting
    moments.py            weighted moments of observations, for fitting

Two models and evidence (kernels/posterior)
    posterior_sweep.py    the posterior divergence, in total and by node
    posterior_batch.py    the same for many chains
    infinite_profile.py * the profile of an infinite divergence
    inward_given.py *     divergences of subtrees given the state above

Observations (kernels/emission)
    normal_rows.py        normal log-densities of rows, and the log-ratio of two models'
    curve_rows.py         the same for exponential, gamma, beta, von Mises, Laplace and generalized Gaussian laws
    mixture_rows.py       the same for mixtures, from the tables of their components
    count_rows.py         rows of counts, looked up column by column in a table of the numbers that occur

Observed divergences (kernels/certified, kernels/sampled, kernels/pairs)
    belief_grid.py        filters on a grid (certified)
    grid_sweeps.py        bounds by sweeps over that grid (certified)
    contexts.py           bounds over a tree of contexts (certified)
    filters.py, predictive.py *  filters of drawn sequences, and the step after them
    value_function.py *   functions of both filters that foretell the divergence to come, fitted to draws
    chain_sums.py         sums along drawn chains (sampled)
    product_pairs.py      product kernels of a block of pairs (pairs)
    variational_pairs.py  the variational recursion for blocks of pairs (pairs)
    products.py           inner products of all pairs of rows (pairs)
"""
