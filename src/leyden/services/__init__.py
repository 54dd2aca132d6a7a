"""Services: one function per thing that the product does."""
