"""Images of the platform, built without Docker."""
