"""Many models with their parameters stacked.

collection.py         Collection: models of one shape
by_shape.py           any list of models, sorted into collections of one shape; whether two lists can be compared
parameters.py         the stacked parameters, unchecked and checked
stacked_families.py   the parameters of emission families as stacked arrays
npz_arrays.py         the same as named arrays of an NPZ file
"""
