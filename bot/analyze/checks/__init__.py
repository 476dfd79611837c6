"""What is wrong: one file per check, found by its name."""
