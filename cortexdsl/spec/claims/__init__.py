"""The claim language of `hypotheses:`, from text to frozen claims that can be answered."""
