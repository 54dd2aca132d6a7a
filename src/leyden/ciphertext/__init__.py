"""Recognition of ciphertext, and of secrets that anyone can read; pure."""
