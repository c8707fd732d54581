"""Tables as programs print them: literals, records, series, trees."""
