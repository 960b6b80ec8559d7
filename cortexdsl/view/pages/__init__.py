"""What the explorer's pages are made of, as plain values."""
