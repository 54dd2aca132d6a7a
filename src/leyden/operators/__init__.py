"""What operators look at and look after: oversight, books, sealing keys."""
