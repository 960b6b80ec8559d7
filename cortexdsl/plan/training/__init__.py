"""What learns from debates: which questions, which debates in which order, which models come out."""
