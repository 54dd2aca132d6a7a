"""What is stored of events: tables, and statements beside them."""
