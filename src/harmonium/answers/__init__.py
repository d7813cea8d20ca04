"""What a fitted model can be asked, in the user's tables and units."""
