"""The torch definitions of the six networks, built from a domain's spec and preset alone."""
