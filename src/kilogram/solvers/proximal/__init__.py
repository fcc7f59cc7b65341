"""Proximal Newton methods for L1 penalties."""
