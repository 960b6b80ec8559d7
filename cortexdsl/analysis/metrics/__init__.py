"""Debate metrics, from records and a grade function alone; `registry` names them, `table` estimates them."""
