"""Templates that mean harm, and comparisons of them."""
