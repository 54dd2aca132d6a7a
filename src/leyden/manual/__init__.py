"""What developers read: the API reference and the guides, at /docs."""
