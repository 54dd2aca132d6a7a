"""The event log of each organization: read, followed and pruned."""
