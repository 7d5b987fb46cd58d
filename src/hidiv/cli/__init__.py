"""The command line: one file for each command, imported when it is run.

main: the `hidiv` command, its list of commands and its exit codes.
compare, posterior, influence: two models, or one, on a tree or given data.
pairwise, nearest, cluster: many models.
differ, reduce: do groups of sequences differ, and how few states are enough.
fit, sample: models from data, and data from models.
report, paper, demo: pages, the paper regenerated, and a first look.
inputs: common options, and how models, trees and data are read.
many_models: options and reading for commands that take many models.
speaking: results in lines of 80 columns, with verdicts in colour on a terminal.
comparison_text: a comparison as text.
text_tables: numbers aligned for reading, and JSON.
pictures: plots saved as files.
interrupts: what happens at Ctrl-C.
"""
