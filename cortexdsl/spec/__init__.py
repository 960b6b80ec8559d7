"""The language: YAML text with positions becomes checked, frozen values."""
