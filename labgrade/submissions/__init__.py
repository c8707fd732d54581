"""Hand-ins, copied into a store: folders, archives, bulk downloads. Nothing of them is run."""
