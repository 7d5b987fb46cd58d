"""The joint divergence of states and observations: local terms, weighted by how often p visits them.

kl.py                  joint_kl and joint_kl_rate; value, parts and profile of a pair; bounds without mixture components
local_terms.py         divergences of initial law, transition rows and emission states; which p reaches, infinite ones
visits.py              expected visits of p to every row and state, by the cheapest route for the tree
do_bound.py            Do's bound by his own formulas
renyi.py               Renyi divergences of the joint law
inward_quantities.py   the paper's inward quantities, with and without evidence
"""
