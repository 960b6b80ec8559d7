"""From scores to verdicts: metrics of debates, paired statistics, claims, power."""
