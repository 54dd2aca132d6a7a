"""What people see: pages rendered here, working without scripts where they can.

A page translates: it reads a form, asks a service, and shows what came of it.
"""
