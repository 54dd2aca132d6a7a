"""The API's endpoints of channels."""
