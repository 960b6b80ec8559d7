"""The claim language of `hypotheses:`: a line of text becomes a frozen claim and then contrasts of cells."""
