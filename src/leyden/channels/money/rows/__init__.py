"""What is stored of money: tables, and statements beside them."""
