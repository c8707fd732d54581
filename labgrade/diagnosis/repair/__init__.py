"""What a wrong function lacks to be right: one small change of the student's own source, found by trying it."""
