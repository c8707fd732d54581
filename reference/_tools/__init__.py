"""What other counters print of a network, regenerated from our own trace of it, part by part, and why it differs."""
