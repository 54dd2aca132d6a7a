"""The customer's side: commands that call a platform's API with a key."""
