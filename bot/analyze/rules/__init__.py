"""What several engines share, and what is too long for the module of one: rules of transformers by version, of chat templates and configurations."""
