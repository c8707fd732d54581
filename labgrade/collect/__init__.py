"""Students' repositories: fetched, the commit that counts found, results returned."""
