"""Channel orders: quoted, paid, ticketed, followed and refunded."""
