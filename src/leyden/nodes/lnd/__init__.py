"""A node's lnd: configuration, files, logs and state."""
