"""What may be spent, how much may be in flight, and who asks."""
