"""Rules of sglang, by release."""
