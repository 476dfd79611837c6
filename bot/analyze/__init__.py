"""The room without a network and without a secret: what the files say, what each engine does, what is wrong."""
