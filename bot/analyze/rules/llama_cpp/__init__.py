"""Rules of llama.cpp: what its converter writes and its runtime stops on."""
