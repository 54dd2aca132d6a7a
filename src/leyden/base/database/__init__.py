"""The database: how all rows are read and written, and their schema."""
