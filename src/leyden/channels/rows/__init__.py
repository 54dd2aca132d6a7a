"""What is stored of channels: tables, and statements beside them."""
