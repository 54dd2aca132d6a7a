"""Webhook deliveries: dispatched, retried and limited."""
