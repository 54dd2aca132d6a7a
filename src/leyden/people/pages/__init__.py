"""The dashboard's pages of people."""
