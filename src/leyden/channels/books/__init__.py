"""Checks of the money that was booked."""
