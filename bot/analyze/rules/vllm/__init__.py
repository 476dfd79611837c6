"""Rules of vLLM, by release."""
