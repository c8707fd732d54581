"""What a forward pass does, found on the meta device: shared by the quantities and slips of this folder."""
