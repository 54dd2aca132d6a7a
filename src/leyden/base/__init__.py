"""What every room stands on; it knows nothing of any of them."""
