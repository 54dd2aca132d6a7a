"""What is stored of direct channels: tables, and statements beside them."""
