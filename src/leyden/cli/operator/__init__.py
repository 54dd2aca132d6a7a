"""The operator's side: straight on the database, beside a running server or not."""
