"""Building the programs of the catalogue, and packing them."""
