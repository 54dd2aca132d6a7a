"""How we call out."""
