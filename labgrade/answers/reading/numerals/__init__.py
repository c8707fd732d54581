"""Numbers as people write them: in digits, in words, in several parts, with units and their prefixes."""
