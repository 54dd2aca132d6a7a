"""Certificates: who vouches for a name, and how a certificate is obtained."""
