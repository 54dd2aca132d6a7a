"""The dashboard's pages of money."""
