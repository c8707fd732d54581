"""The layers that a process puts on before students' code runs in it."""
