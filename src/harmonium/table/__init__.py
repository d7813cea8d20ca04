"""What comes in: endpoints, column roles, time scales, and their encoding to cells and back."""
