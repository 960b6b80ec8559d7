"""The sections of a spec, but for the protocols in it."""
