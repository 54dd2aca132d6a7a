"""Helpers: processes that compute for us, so that our event loop never blocks.

Python runs one thread at a time: what a thread computes is taken from the event loop
of its process. A helper is a process of its own, started when it is first needed. It
yields to us where processors are short, has limits of memory and time, knows none of
our environment, writes nothing, and ends with us, however we end.

This module imports nothing, so that a helper only holds what it computes with.
"""
