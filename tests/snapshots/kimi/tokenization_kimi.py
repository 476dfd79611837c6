"""Stands in for the code of the repository."""
