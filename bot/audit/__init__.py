"""Judging many repositories of the Hub: what is asked, the lines that answer it, and where they are kept."""
