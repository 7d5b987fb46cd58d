"""HTML pages about two models or a collection, and the paper regenerated.

page: puts template, style, script and numbers into one file.
pair_page: the page about two models.
collection_page: the page about many models.
part_rows: the parts of a joint divergence as rows of a table.
heat_tables: the parameters of two models as shaded tables.
charts: bars along nodes and drawn trees, as SVG.
samples_needed: how many observations tell two models apart.
dendrograms: a dendrogram as SVG.
matrix_picture: a matrix of divergences as shades or as a PNG.
model_map: models as points of a plane.
provenance: the versions a page was made with.
paper: the table and figures of the paper, each number with a verdict.
"""
