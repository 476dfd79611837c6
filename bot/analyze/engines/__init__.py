"""What each engine will do with a model: one module per engine, found by its ID."""
