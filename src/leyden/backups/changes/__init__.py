"""Changes between two backups: follow, store, verify and apply them."""
