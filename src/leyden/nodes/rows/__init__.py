"""What is stored of nodes: tables, and statements beside them."""
