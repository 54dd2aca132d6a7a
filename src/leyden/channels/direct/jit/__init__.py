"""The sale of just-in-time channels over LSPS2, from a purse of their own."""
