"""Tables of what went on between agents: rounds, who persuaded whom, how sure they were."""
