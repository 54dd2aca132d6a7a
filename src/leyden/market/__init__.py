"""Where capacity is bought."""
