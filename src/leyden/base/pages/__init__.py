"""What each page needs: rendered on the server, without scripts where possible.

A page handler only translates: it parses a form, calls a service, and
renders the result.
"""
