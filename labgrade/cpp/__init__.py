"""Students' C++ programs: found, built in the jail, run, and explained."""
