"""The door for what students hand in: copied into a store of ours, regular files only, in bounded size."""
