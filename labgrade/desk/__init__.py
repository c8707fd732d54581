"""The marker's page in a browser: what a person must look at, question by question."""
