"""The expression language: edge weights, choices among agents, conditions of loops and of turns, weights of votes.

`evaluation` parses an expression and evaluates it over arrays. `names` declares the names that an expression may use:
their meaning, what they belong to (an agent, a pair, the debate, an answer, a turn), and where each has a value. Their
values at a moment of a debate come from `cortexdsl.engine.name_values`.
"""
