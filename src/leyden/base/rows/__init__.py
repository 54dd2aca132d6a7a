"""What is stored of all rooms: tables, and statements beside them."""
