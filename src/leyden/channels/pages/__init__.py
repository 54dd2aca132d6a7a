"""The dashboard's pages of channels."""
