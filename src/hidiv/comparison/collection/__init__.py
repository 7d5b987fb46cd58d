"""Many models with their parameters stacked.

collection.py           Collection: models of one shape
by_shape.py             any list of models, sorted into collections of one shape; whether two lists can be compared
stacked_parameters.py   the stacked parameters, those of emission families among them; unchecked and checked
npz_arrays.py           the same as named arrays of an NPZ file
"""
