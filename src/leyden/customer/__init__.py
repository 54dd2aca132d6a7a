"""Commands of customers and owners: clients of a platform and of nodes."""
