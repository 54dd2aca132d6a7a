"""Commands that set up, migrate, start and stop an installation."""
