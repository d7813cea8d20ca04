"""Ground floor of the numerics: compilation, random streams, exponentials and logarithms, small matrix products, quadrature."""
