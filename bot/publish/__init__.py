"""The room that shows a comparison: comment, summary, annotations, text."""
