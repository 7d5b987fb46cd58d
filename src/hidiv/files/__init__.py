"""Models, trees, results and collections in files: JSON and NPZ, never pickle.

loading: `load`.
saving: `save`.
formats: the table of formats, and JSON texts of models, trees and results.
strict_json: JSON read strictly and written exactly.
npz: named arrays in NPZ files.
named_matrices: matrices of divergences in CSV and NPZ.
csv_values: observations in CSV.
csv_folder: a model as a folder of CSV files.
sequences, conllu: many sequences or trees in one file, and sentences of CoNLL-U as trees.
disk: bytes of files: size limits, and files replaced whole or not at all.
"""
