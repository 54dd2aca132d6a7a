"""A Kubernetes on your laptop."""
