"""HTML pages about two models or a collection, and the paper regenerated.

page: puts template, style, script and numbers into one file, with the versions it was made with.
pair_page: the page about two models, with a section for each result of another question.
aligned: which state of q goes with which of p: in the order that fits p, as labelled, or by what they show.
causes: why two models differ, in sentences, and which parameter of an emission makes most of the difference.
data_strip: what data say about two models, and the data with the states that each model decodes.
state_diagram: states and arrows of both models.
emission_pictures: what both models show in each state.
heat_tables: the parameters of two models as shaded tables.
charts: bars along nodes and drawn trees, as SVG.
samples_needed: how many observations tell two models apart.
method_words: how every number was computed, in sentences.
digits: numbers with the digits that their errors leave.
state_names: how states and models are called.
collection_page: the page about many models, and what it tells of a pair that is clicked.
collection_pictures: a matrix of divergences as shades or as a PNG, a dendrogram, and models as points of a plane.
paper: the table and figures of the paper, each number with a verdict.
"""
