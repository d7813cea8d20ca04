"""Integrating out whatever was not observed: exactly, by summing over hidden states, and by Gibbs sampling."""
