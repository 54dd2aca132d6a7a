"""The dashboard's pages of nodes."""
