"""Learning the parameters: objectives, coordinates, the exact and the contrastive trainer."""
