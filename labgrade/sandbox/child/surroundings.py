"""What a student's code finds around it: no network, weights that stand in for trained ones."""

from __future__ import annotations

import errno
import functools
import ipaddress
import os
import socket
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlparse

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE = (
    "there is no network while your work is graded: {} can't be reached; hand in the file itself, beside your program"
)


def refuse_network() -> None:
    """Make every connection to another host that Python opens fail with `SENTENCE`; local sockets still work.

    A server of students' jobs does it once for all of its forks: done in each, it would copy a hundred pages.
    """
    if hasattr(socket.create_connection, "__wrapped__"):
        return
    os.environ.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", HF_HUB_OFFLINE="1")
    socket.socket.__init__ = _guarded_making(socket.socket.__init__)  # type: ignore[method-assign]
    socket.create_connection = _guarded_connection(socket.create_connection)
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guarded_connect(getattr(socket.socket, name)))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        setattr(socket, name, _guarded_look_up(getattr(socket, name)))


def _guarded_making(make: Callable[..., None]) -> Callable[..., None]:
    """Wrap the making of sockets: where a jail forbids it, the error says so."""

    @functools.wraps(make)
    def guarded(self: socket.socket, *arguments: Any, **options: Any) -> None:
        try:
            make(self, *arguments, **options)
        except PermissionError as error:
            raise OSError(errno.ENETUNREACH, SENTENCE.format("another machine")) from error

    return guarded


def _guarded_connection(connect: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `socket.create_connection`: another host is refused."""

    @functools.wraps(connect)
    def guarded(address: Any, *rest: Any, **options: Any) -> Any:
        if not _is_here(address[0]):
            raise OSError(errno.ENETUNREACH, SENTENCE.format(f"'{address[0]}'"))
        return connect(address, *rest, **options)

    return guarded


def _guarded_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a socket's `connect`: another host is refused."""

    @functools.wraps(connect)
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            raise OSError(errno.ENETUNREACH, SENTENCE.format(f"'{address[0]}'"))
        return connect(self, address)

    return guarded


def _guarded_look_up(look_up: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a look-up of host names: a name of another host is not found."""

    @functools.wraps(look_up)
    def guarded(host: Any, *rest: Any, **options: Any) -> Any:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if name and not _is_number(name) and name not in ("localhost", socket.gethostname()):
            raise socket.gaierror(socket.EAI_NONAME, SENTENCE.format(f"'{name}'"))
        return look_up(host, *rest, **options)

    return guarded


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_here(host: str) -> bool:
    return not _is_number(host) or ipaddress.ip_address(host.partition("%")[0]).is_loopback or host in ("0.0.0.0", "::")  # noqa: S104 - nothing is bound


_IMPORTERS = ("torch.hub", "torchvision._internally_replaced_utils", "torchvision.models._api")
_VISION = "pytorch/vision"
_OF_THE_DOWNLOAD = ("trust_repo", "force_reload", "verbose", "skip_validation")
_HEADS = ("googlenet", "inception_v3")  # published with auxiliary heads, which the zoo leaves out


def offer_weights(note: Callable[[str], None]) -> None:
    """Replace downloads of weights. `note` gets the architecture whenever seeded weights stand in for trained ones."""
    torch: Any = sys.modules.get("torch")
    zoo: Any = sys.modules.get("labgrade_zoo")
    if torch is None or zoo is None:
        return
    downloads = _Downloads(torch.hub, zoo, note)
    for module in map(sys.modules.get, _IMPORTERS):
        if module is not None:
            module.load_state_dict_from_url = downloads.state_dict  # type: ignore[attr-defined]
    torch.hub.download_url_to_file, torch.hub.load = downloads.to_file, downloads.model


class _Downloads:
    """The functions that replace those of torch.hub that download."""

    def __init__(self, hub: Any, zoo: Any, note: Callable[[str], None]) -> None:
        self._hub = hub
        self._zoo = zoo
        self._note = note
        self._load_state_dict_from_url = hub.load_state_dict_from_url
        self._load = hub.load

    def state_dict(self, url: str, model_dir: str | None = None, *rest: Any, **options: Any) -> Any:
        """Replace `load_state_dict_from_url`: load the file if it is there, as in an offered TORCH_HOME."""
        name = options.get("file_name") or PurePosixPath(urlparse(url).path).name
        if os.access(Path(model_dir or Path(self._hub.get_dir()) / "checkpoints") / name, os.R_OK):
            return self._load_state_dict_from_url(url, model_dir, *rest, **options)
        return _stand_in(self._zoo, url, self._note)

    def to_file(self, url: str, dst: str, *_: Any, **__: Any) -> None:
        """Replace `download_url_to_file`: write stand-in weights to the file."""
        sys.modules["torch"].save(_stand_in(self._zoo, url, self._note), dst)

    def model(self, repo_or_dir: str, model: str, *args: Any, source: str = "github", **options: Any) -> Any:
        """Replace `torch.hub.load`: models are torchvision's own, or lie in an offered TORCH_HOME or a folder."""
        given = {name: value for name, value in options.items() if name not in _OF_THE_DOWNLOAD}
        if source.lower() == "local":
            return self._load(repo_or_dir, model, *args, source=source, **given)
        repository, _, ref = repo_or_dir.partition(":")
        if repository == _VISION:
            return sys.modules["torchvision"].models.get_model_builder(model)(*args, **given)
        for known in [ref] if ref else ["main", "master"]:
            folder = Path(self._hub.get_dir()) / f"{repository.replace('/', '_')}_{known.replace('/', '_')}"
            if folder.is_dir():
                return self._load(str(folder), model, *args, source="local", **given)
        raise URLError(SENTENCE.format(f"'github.com/{repository}'"))


def _stand_in(zoo: Any, url: str, note: Callable[[str], None]) -> dict[str, Any]:
    """Return the state dict behind a URL of torchvision's, with the zoo's weights.

    Raises:
        URLError: it is of no architecture that the zoo has.
    """
    found = _architecture(zoo, url)
    if found is None:
        raise URLError(SENTENCE.format(f"'{urlparse(url).netloc or url}'"))
    name, weights = found
    note(name)
    model = zoo.COLLECTION + name
    side = min(weights.meta["min_size"]) if name.startswith("vit_") else 224
    options = {} if side == 224 else {"image_size": side}  # noqa: PLR2004 - torchvision's default
    state: dict[str, Any] = zoo.Subject(model=model, shape=(1, 3, 1, 1), options=options).with_weights()[0].state_dict()
    if name in _HEADS:
        _add_heads(state, zoo.Subject(model=model, shape=(1, 3, 1, 1), options={"aux_logits": True}))
    return state


def _add_heads(state: dict[str, Any], whole: Any) -> None:
    """Add constant weights for heads that do not run in eval mode: to draw them would take seconds."""
    torch = sys.modules["torch"]
    for name, like in whole.on_meta()[0].state_dict().items():
        if name not in state:
            state[name] = torch.full(like.shape, 0.01).to(like.dtype)


def _architecture(zoo: Any, url: str) -> tuple[str, Any] | None:
    """Return the architecture and the weights of a URL that torchvision publishes or published; else None."""
    models = sys.modules["torchvision"].models
    names = [name.removeprefix(zoo.COLLECTION) for name in zoo.names() if name.startswith(zoo.COLLECTION)]
    known = [(name, weights) for name in names for weights in models.get_model_weights(name)]
    for name, weights in known:
        if weights.url == url:
            return name, weights
    stem = PurePosixPath(urlparse(url).path).stem
    close = [(name, weights) for name, weights in known if stem == name or stem.startswith((f"{name}-", f"{name}_"))]
    return max(close, key=lambda each: len(each[0]), default=None)


class Surroundings:
    """What a child prepares once before the student's code runs. `seeded`: architectures whose weights stood in."""

    def __init__(self, torch_home: str) -> None:
        self.seeded: list[str] = []
        if torch_home:
            os.environ["TORCH_HOME"] = torch_home
        refuse_network()
        offer_weights(self.note)

    def note(self, architecture: str) -> None:
        """Remember an architecture, once."""
        if architecture not in self.seeded:
            self.seeded.append(architecture)
