"""What the files of one model folder say, each value with its place."""
