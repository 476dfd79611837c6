"""Compare two revisions of a model repository and say what newly goes wrong."""

__version__ = "0.1.0"
