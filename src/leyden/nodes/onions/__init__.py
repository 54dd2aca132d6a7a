"""Tor: where the operator runs it, peers reach nodes at onion addresses too."""
