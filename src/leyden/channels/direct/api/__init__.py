"""The API's endpoints of direct channels."""
