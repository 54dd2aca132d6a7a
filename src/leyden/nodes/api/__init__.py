"""The API's endpoints of nodes."""
