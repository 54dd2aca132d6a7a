"""Tables of endpoints, pages, jobs and commands, and what serves an installation.

The only room that imports all others.
"""
