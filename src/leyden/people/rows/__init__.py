"""What is stored of people: tables, and statements beside them."""
