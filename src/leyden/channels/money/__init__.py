"""What an organization has: credit, coupons, corrections, corporate accounts."""
