"""Makes `pytest --submission=NAME` grade; see labgrade/pytest_plugin.py."""

pytest_plugins = ["labgrade.pytest_plugin"]
