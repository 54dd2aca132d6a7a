"""How we are paid."""
