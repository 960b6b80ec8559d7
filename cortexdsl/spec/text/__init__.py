"""YAML text becomes nodes that remember where they were written, with what they extend."""
