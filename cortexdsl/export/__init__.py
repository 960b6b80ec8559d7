"""Experiments in the formats of other programs: Inspect, the Hugging Face hub, Every Eval Ever, RO-Crate."""
