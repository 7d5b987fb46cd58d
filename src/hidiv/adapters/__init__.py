"""From the models of other libraries and programs to a Model: a file for each of them.

as_model: `as_model`, through which every function reads its models, and the table of libraries.
smoothed: `smoothed`, a model whose zeros are filled.
hmmlearn, pomegranate, dynamax, pyro, tfp, statsmodels, deeptime: objects of these libraries, never imported here;
    hmmlearn also has `to_hmmlearn`.
jahmm, openalea, chromhmm: text files of these programs.
foreign: numbers of other libraries as doubles; laws in single precision rescaled.
distributions: distribution objects of torch, Pyro and TensorFlow Probability.
tokens: text files word by word.
"""
