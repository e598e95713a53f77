"""How different texts are: their vectors, and the distances between them."""
