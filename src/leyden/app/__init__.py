"""The composition root: builds an installation from its settings.

The only package that imports every implementation.
"""
