"""Groups around rows of the data, from features of any metric or from distances only."""
