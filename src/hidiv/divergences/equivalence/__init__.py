"""Whether two models are the same process, and the smallest exactly equal model.

letters.py       observations as formal letters: symbols, or one letter a law where laws are linearly independent
spanning_words.py         words breadth first, as many as span what a model can tell apart (Tzeng's algorithm)
equivalent.py    equivalent: the same process, or a shortest word that the two give different probabilities
blocks.py        states that can be told apart by nothing that follows them: partition refinement
minimal.py       minimal and order: states merged without loss, and how few any equal model needs
"""
