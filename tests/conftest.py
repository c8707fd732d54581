"""How the tests are shared among workers: a file stays with one, and the files with slow tests come first."""


def pytest_configure(config):
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadscope"  # what a file's tests share, such as a warm server, is started once
        config.option.loadscopereorder = False  # the order below, not that of the most tests


def pytest_collection_modifyitems(items):
    slow = {item.path: 0 for item in items}
    for item in items:
        slow[item.path] += item.get_closest_marker("slow") is not None
    items.sort(key=lambda item: not slow[item.path])
