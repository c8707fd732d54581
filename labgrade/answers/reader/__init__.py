"""Reading what students hand in, in a process of its own: what it is asked, what it replies, and the grader's end."""
