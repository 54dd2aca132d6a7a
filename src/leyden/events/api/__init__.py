"""The API's endpoints of events."""
