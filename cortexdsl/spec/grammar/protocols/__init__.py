"""The words of a protocol: who hears whom, steps, schedules, votes."""
