"""The dashboard's pages of what operators see."""
