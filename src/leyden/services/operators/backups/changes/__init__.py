"""Changes between two backups: followed, sent to the store, proven and applied."""
