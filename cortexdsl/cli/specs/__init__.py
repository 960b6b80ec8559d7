"""Verbs around a spec, before anything is spent: write it, check it, price it, explain it."""
