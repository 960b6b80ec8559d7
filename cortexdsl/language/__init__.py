"""The language: YAML text is read, checked, and resolved into the methods that the engine runs."""
