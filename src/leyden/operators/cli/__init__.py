"""Commands of operators that concern all rooms."""
