"""Metrics of debates: the measures of one debate, their estimates over cells, and tables of scores."""
