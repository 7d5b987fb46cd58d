"""Models, the trees they are defined on, and evidence about the nodes of a tree.

model: `Model`, a hidden Markov chain or tree model, and whether its groups fit those of a tree.
tree: `Tree` with all its constructors, and `as_tree` for arguments.
evidence: `Evidence`, what is known of each node, and `as_evidence` for arguments.
until_end: `UNTIL_END`, in place of a tree for chains that stop by themselves.
checks: checks of the parts of a model as a caller gives them, and of the keys and format of any description.
tree_checks: checks of the parents, groups and labels of a tree.
symbol_names: text and categories as numbers with names.
tree_reading, newick: trees from edges, graphs and Newick text.
words: the paper's names of nodes, and trees from them.
zero_filling: models with their zeros filled, for `smoothed` and `as_model(floor=)`.
"""
