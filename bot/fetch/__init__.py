"""The room that brings the bytes of a revision and parses none of them."""
