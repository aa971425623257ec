"""The data files: those inside the package, and those that are published elsewhere.

A published file is looked for in the folder that `DCSHAP_DATA` names, then in the user's cache, then at its
public address. Its bytes are used only if their sha256 is the registered one.
"""

from __future__ import annotations

import hashlib
import logging
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pooch

from dcshap.exceptions import DatasetError

__all__ = ["PUBLISHED", "PublishedFile", "cache_path", "data_path", "read_embedded", "read_published"]

DATA_VARIABLE = "DCSHAP_DATA"
CACHE_VARIABLE = "DCSHAP_CACHE"
TIMEOUT = 30.0  # seconds without a byte, not for the whole file
_NO_FILE = "no such file"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """A file as its authors published it."""

    name: str  # its place below the folder in `DCSHAP_DATA` and below the cache, with forward slashes
    sha256: str  # the hash of its bytes, in hexadecimal
    url: str  # its public address


_HASHES = {
    "adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "heart/processed.cleveland.data": "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
    "heart/processed.hungarian.data": "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
    "heart/processed.switzerland.data": "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314",
    "heart/processed.va.data": "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f",
    "pima/pima-indians-diabetes.data.csv": "6bfe5d0f379d17a0e0819b996407e3c09bf80febd4287f2ed212190dfff154af",
}
_ADDRESSES = {
    "adult": f"{_UCI}/adult",
    "heart": f"{_UCI}/heart-disease",
    "pima": "https://raw.githubusercontent.com/jbrownlee/Datasets/master",
}
PUBLISHED = {
    f"{folder}/{file}": PublishedFile(name=f"{folder}/{file}", sha256=sha256, url=f"{_ADDRESSES[folder]}/{file}")
    for (folder, file), sha256 in ((name.split("/"), sha256) for name, sha256 in _HASHES.items())
}


def read_embedded(name: str) -> bytes:
    """Read a file that comes with the package, decompressed."""
    packed = resources.files("dcshap.datasets").joinpath("embedded", f"{name}.xz").read_bytes()
    return lzma.decompress(packed)


def read_published(name: str) -> bytes:
    """Read a published file from the first place that has it.

    Parameters
    ----------
    name : str
        A key of `PUBLISHED`.

    Returns
    -------
    bytes
        The file exactly as published.

    Raises
    ------
    DatasetError
        No place has the file, or the folder in `DCSHAP_DATA` has another file under its name.
    """
    file = PUBLISHED[name]
    looked: list[str] = []
    by_hand = data_path(file)
    if by_hand is None:
        looked.append(f"the folder in {DATA_VARIABLE}: the variable is not set")
    else:
        content, problem = _read_checked(by_hand, file)
        if content is not None:
            return content
        looked.append(f"the folder in {DATA_VARIABLE}, {by_hand}: {problem}")
        if problem != _NO_FILE:
            # Somebody put it there: to go on quietly would hide that it is never used.
            raise _not_found(file, looked)

    cached = cache_path(file)
    content, problem = _read_checked(cached, file)
    if content is not None:
        return content
    looked.append(f"the cache, {cached}: {problem}")
    return _download(file, cached, looked)


def data_path(file: PublishedFile) -> Path | None:
    """Where the file is expected in the folder that `DCSHAP_DATA` names, or None if it names none."""
    folder = os.environ.get(DATA_VARIABLE)
    return Path(folder).expanduser() / file.name if folder else None


def cache_path(file: PublishedFile) -> Path:
    """Where the file is kept once it has been downloaded: `DCSHAP_CACHE`, or the cache folder of the system."""
    folder = os.environ.get(CACHE_VARIABLE) or pooch.os_cache("dcshap")
    return Path(folder).expanduser() / file.name


def _read_checked(path: Path, file: PublishedFile) -> tuple[bytes | None, str]:
    """Return the published bytes, or None and what is wrong with the file at `path`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None, _NO_FILE
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        return None, f"not the published file, its sha256 is {found}"
    return content, ""


def _download(file: PublishedFile, cached: Path, looked: list[str]) -> bytes:
    """Download a file into the cache; pooch moves it there only when its hash is right."""
    try:
        with _quiet_pooch():
            pooch.retrieve(
                file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=cached.name,
                path=cached.parent,
                # Not streamed: pooch would leave the connection of a refused request open.
                downloader=pooch.HTTPDownloader(timeout=TIMEOUT, stream=False),
            )
    except (OSError, ValueError) as error:
        # OSError: the cache cannot be written, or any failure of requests. ValueError: pooch, of a wrong hash.
        looked.append(f"{file.url}: {type(error).__name__}: {error}")
        raise _not_found(file, looked) from error
    return cached.read_bytes()


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Keep pooch from announcing downloads on standard error; other users of pooch get their level back."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _not_found(file: PublishedFile, looked: list[str]) -> DatasetError:
    places = "\n".join(f"  - {place}" for place in looked)
    return DatasetError(
        f"The data file {file.name} must be there as it was published, and was not. Looked in:\n{places}\n"
        f"Download it from {file.url} (sha256 {file.sha256}), save it as {file.name} below a folder of your own, "
        f"and set the environment variable {DATA_VARIABLE} to that folder."
    )
