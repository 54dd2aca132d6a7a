"""What is stored of backups: tables, and statements beside them."""
