"""What a developer runs besides the tests."""
