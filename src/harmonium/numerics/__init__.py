"""Ground floor of the numerics: compilation, random streams, exponentials, quadrature."""
