"""Real repositories from the package index, with designs that are built in them."""
