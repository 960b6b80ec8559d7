"""A protocol as it is written: found, put in order with its settings, and sound whatever they are."""
