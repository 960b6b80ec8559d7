"""The debate engine: a method and a question in, a debate out. It knows no files, no network and no gold answers.

`run` runs a debate and `trajectories` its branches, through the functions of `cortexdsl.core.Ports`. A step goes
through `topology` and `sparsification` (who hears whom), `messages` (what a prompt shows), `readings` and `confidence`
(what is read from a reply), and `state` (what has happened so far). `decisions` turns the answers into one.
`name_values` and `formulas` compute the names of expressions, `methods` answers questions about a method, `ablation`
leaves parts of a debate out, `seeds` derives every draw, and `concurrency` waits for calls.
"""
