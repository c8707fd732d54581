"""The small networks and configs on which a function is called: drawn at random, few layers, an answer known."""
