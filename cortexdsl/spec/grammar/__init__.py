"""The types of the language: every section, key and word of a spec and of a protocol, as they are written."""
