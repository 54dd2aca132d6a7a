"""The sale of direct channels to everybody, over LSPS1."""
