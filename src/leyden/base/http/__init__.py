"""The HTTP server, and what every endpoint needs."""
