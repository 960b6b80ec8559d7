"""What the jobs of a plan need: which are due, which wait, their tools, and the plan as Snakemake text."""
