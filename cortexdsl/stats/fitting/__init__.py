"""Functions fitted on tables of debates: their kinds, and how well they predict questions that they have not seen."""
