"""HTML pages about two models or a collection, and the paper regenerated.

page: puts template, style, script and numbers into one file, with the versions it was made with.
pair_page: the page about two models.
collection_page: the page about many models.
heat_tables: the parameters of two models as shaded tables.
charts: bars along nodes and drawn trees, as SVG.
samples_needed: how many observations tell two models apart.
collection_pictures: a matrix of divergences as shades or as a PNG, a dendrogram, and models as points of a plane.
paper: the table and figures of the paper, each number with a verdict.
"""
