"""The grader's end of the sandbox: servers, control groups, working copies."""
