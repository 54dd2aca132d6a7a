"""What is stored of what operators see: tables, and statements beside them."""
