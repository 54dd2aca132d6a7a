"""Customer commands: clients of a platform's API with an API key."""
