"""Retrieval for knowledge pools.

A `Source` retrieves passages (`passages`); there are local corpora (`corpus`, `local`), indexes that pyserini built
(`indexes`) and web searches (`search`). `entries` opens what a spec names, and `pool` builds, keeps and reads pools.
"""
