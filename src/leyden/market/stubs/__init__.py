"""How poold is spoken to: made by leyden.market.generate, not by hand."""
