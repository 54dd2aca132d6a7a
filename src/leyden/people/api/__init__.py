"""The API's endpoints of people."""
