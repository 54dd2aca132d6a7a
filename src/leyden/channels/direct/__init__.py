"""Direct channels: to a node that the order names, from the operator's own lnd."""
