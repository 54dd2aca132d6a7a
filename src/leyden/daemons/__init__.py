"""Where lnd, btcd and poold come from."""
