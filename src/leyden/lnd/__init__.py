"""What the library needs of lnd: its REST API without I/O, and whom to trust."""
