"""Rules of Ollama: what its converter takes from a folder."""
