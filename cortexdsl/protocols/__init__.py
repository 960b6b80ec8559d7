"""Debate protocols: the built-in ones, written in the language, and what makes a method of one."""
