"""Questions, answer reading and grading."""
