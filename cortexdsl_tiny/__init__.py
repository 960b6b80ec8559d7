"""Small language models: Llama folders that this machine computes (`tiny/NAME`), and the workflow that makes them.

The core finds this package by the prefix `tiny` of a model's name (`transport`) and does not import it.
"""
