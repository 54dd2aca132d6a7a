"""The public sale of direct channels over LSPS1."""
