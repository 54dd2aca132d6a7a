"""The database: everything that is stored."""
