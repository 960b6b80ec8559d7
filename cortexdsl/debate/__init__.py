"""The pure debate engine: a method and a question in, a debate out; no files, no network, no gold answers."""
