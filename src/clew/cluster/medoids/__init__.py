"""Groups around rows of the data, from features under any metric or from distances only."""
