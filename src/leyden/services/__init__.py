"""What the product does: one function per thing that can happen."""
