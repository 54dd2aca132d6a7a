"""Sending emails: the mail server that the settings name."""
