"""Verbs for what other programs wrote: tables of scores, replies, transcripts."""
