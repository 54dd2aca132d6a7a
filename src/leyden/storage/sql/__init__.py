"""Statements as we write them, with SQLAlchemy; the program runs `written`."""
