"""What is stored of tasks: tables, and statements beside them."""
