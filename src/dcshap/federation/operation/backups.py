"""A site in one encrypted file: its kit, configuration, seeds, trainings and ledger, and back again.

The passphrase's key is made by scrypt; AES-256-GCM encrypts and authenticates chunk by chunk, each bound to its place.
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from dcshap.exceptions import FederationError, InputError, StorageError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.processes import is_running

__all__ = ["back_up", "restore"]

_MAGIC = b"dcshap backup 1\n"
_SALT, _CHUNK = 16, 1 << 20
_HEAD = struct.Struct(">I?")  # how long a chunk is, and whether it is the last
_KEPT = ("startup", "local", "dcshap")  # the rest is the engine's logs, and what it makes anew
_LEAST = 12  # characters of a passphrase


def back_up(kit: Kit, path: Path, *, passphrase: str) -> None:
    """Write a site's kit, configuration and state to one encrypted file, which must be new.

    A site that runs may be in the middle of a training: it must be ended first.
    """
    if len(passphrase) < _LEAST:
        raise InputError(f"The passphrase must have at least {_LEAST} characters: the file holds the site's keys.")
    if kit.role != "requester" and is_running(kit):
        raise FederationError(f"{kit.name!r} is running. End it for the time of the backup.")
    if path.exists():
        raise StorageError(f"{path} exists already. A backup is a new file.")
    aside = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            sealing = _Sealing(file, passphrase)
            with tarfile.open(fileobj=sealing, mode="w|gz") as tar:
                for name in _KEPT:
                    if (kit.folder / name).exists():
                        tar.add(kit.folder / name, arcname=name)
            sealing.finish()
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise StorageError(f"The backup could not be written ({error.strerror}).") from error


def restore(path: Path, folder: Path, *, passphrase: str) -> Kit:
    """Make a site's kit from a backup, in a folder that must be new; it appears as a whole or not at all."""
    if folder.exists():
        raise StorageError(f"{folder} must be new. It exists.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".restore-") as aside:
        with tempfile.TemporaryFile(dir=aside) as packed:
            try:
                with path.open("rb") as file:
                    _decrypt(file, packed, passphrase)
            except OSError as error:
                raise StorageError(f"{path} cannot be read, or not unpacked ({error.strerror}).") from error
            packed.seek(0)
            (Path(aside) / "kit").mkdir(mode=0o700)  # it holds the site's keys
            with tarfile.open(fileobj=packed, mode="r:gz") as tar:
                tar.extractall(Path(aside) / "kit", filter="data")
        (Path(aside) / "kit").replace(folder)
    return Kit.load(folder)


class _Sealing(io.RawIOBase):
    """A file that encrypts what is written to it, so that nothing of it is on a disk in clear."""

    def __init__(self, target: BinaryIO, passphrase: str) -> None:
        salt = os.urandom(_SALT)
        self._cipher, self._target, self._at, self._left = _cipher(passphrase, salt), target, 0, b""
        target.write(_MAGIC + salt)

    def write(self, data: Any, /) -> int:
        """Take more; whole chunks are encrypted and written at once."""
        self._left += data
        while len(self._left) > _CHUNK:
            chunk, self._left = self._left[:_CHUNK], self._left[_CHUNK:]
            self._seal(chunk, last=False)
        return len(data)

    def finish(self) -> None:
        """Write what is left, as the last chunk."""
        self._seal(self._left, last=True)

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        sealed = self._cipher.encrypt(_place(self._at), chunk, _MAGIC + bytes([last]))
        self._target.write(_HEAD.pack(len(sealed), last) + sealed)
        self._at += 1


def _decrypt(source: BinaryIO, target: BinaryIO, passphrase: str) -> None:
    if source.read(len(_MAGIC)) != _MAGIC:
        raise StorageError("The file must be a backup of a dcshap site, of this version or an older one. It is not.")
    cipher, at, last = _cipher(passphrase, source.read(_SALT)), 0, False
    while not last:
        head = source.read(_HEAD.size)
        size, last = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, False)
        try:
            if not 0 < size <= _CHUNK + 16:
                raise InvalidTag
            target.write(cipher.decrypt(_place(at), source.read(size), _MAGIC + bytes([last])))
        except InvalidTag as error:
            raise StorageError("The passphrase is another, or the backup is damaged or cut short.") from error
        at += 1


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    return AESGCM(Scrypt(salt=salt, length=32, n=2**16, r=8, p=1).derive(passphrase.encode()))


def _place(at: int) -> bytes:
    return at.to_bytes(12, "big")  # a nonce: every file has a key of its own
