"""Tests that stay valid however often one looks: early stopping."""
