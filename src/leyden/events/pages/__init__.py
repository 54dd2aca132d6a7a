"""The dashboard's pages of events."""
