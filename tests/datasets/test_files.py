from __future__ import annotations

import dataclasses
import hashlib
import http.server
import logging
import threading
from importlib import resources
from pathlib import Path

import pooch
import pytest

from dcshap.datasets import files
from dcshap.exceptions import DatasetError

NAME = "heart/processed.va.data"
CONTENT = b"63,1,4,140,260,0,1,112,1,3,2,?,?,2\n"


class _Server(http.server.ThreadingHTTPServer):
    """Answers every request with `answer` and remembers what was asked for; made silent by clearing `release`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = CONTENT
        self.announced: int | None = None
        self.status = 200
        self.paths: list[str] = []
        self.release = threading.Event()
        self.release.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *args: object) -> None:
        """A client that has hung up is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.server.release.wait(10)
        self.send_response(self.server.status)
        announced = self.server.announced
        self.send_header("Content-Length", str(len(self.server.answer) if announced is None else announced))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *args: object) -> None:
        """Say nothing on standard error."""


@pytest.fixture
def server():
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def places(monkeypatch, tmp_path):
    """A folder of the user's own and a cache, both empty, and a file whose published content is `CONTENT`."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("DCSHAP_DATA", str(data))
    monkeypatch.setenv("DCSHAP_CACHE", str(cache))
    _publish(monkeypatch, sha256=hashlib.sha256(CONTENT).hexdigest())
    return data, cache


def _publish(monkeypatch: pytest.MonkeyPatch, **changes: str) -> None:
    changed = dataclasses.replace(files.PUBLISHED[NAME], **changes)
    monkeypatch.setitem(files.PUBLISHED, NAME, changed)


def _put(folder: Path, content: bytes) -> Path:
    path = folder / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def _files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _message() -> str:
    with pytest.raises(DatasetError) as caught:
        files.read_published(NAME)
    return str(caught.value)


@pytest.mark.parametrize("name", ["adult.data", "adult.test"])
def test_embedded_adult_is_the_published_file_byte_for_byte(name):
    content = files.read_embedded(name)
    assert hashlib.sha256(content).hexdigest() == files.PUBLISHED[f"adult/{name}"].sha256


def test_embedded_cleveland_rows_are_those_of_the_attribution():
    content = files.read_embedded("cleveland-complete.data")
    assert hashlib.sha256(content).hexdigest() == "aa7f21ac794ba3921d7ee1bb7dfe2239652cf66d2dd5441539ca2a43d94780f0"


def test_embedded_cleveland_rows_are_the_complete_published_rows(published):
    published("heart/processed.cleveland.data")
    rows = files.read_published("heart/processed.cleveland.data").split()
    complete = [row for row in rows if b"?" not in row]
    assert sorted(files.read_embedded("cleveland-complete.data").split()) == sorted(complete)


def test_attribution_beside_the_embedded_files_names_each_with_its_source_and_licence():
    folder = resources.files("dcshap.datasets").joinpath("embedded")
    text = folder.joinpath("ATTRIBUTION.txt").read_text(encoding="utf-8")
    for item in folder.iterdir():
        assert item.name == "ATTRIBUTION.txt" or item.name in text
    for part in ("10.24432/C5XW20", "10.24432/C52P4X", "CC BY 4.0"):
        assert part in text


def test_embedded_files_add_less_than_half_a_megabyte_to_the_package():
    folder = resources.files("dcshap.datasets").joinpath("embedded")
    assert sum(len(item.read_bytes()) for item in folder.iterdir()) < 500_000


@pytest.mark.parametrize("name", list(files.PUBLISHED))
def test_published_files_at_hand_have_the_registered_hash(name, published):
    published(name)
    assert hashlib.sha256(files.read_published(name)).hexdigest() == files.PUBLISHED[name].sha256


def test_the_folder_in_dcshap_data_comes_before_the_cache_and_the_network(places, monkeypatch, server):
    data, cache = places
    _publish(monkeypatch, url=server.address)
    _put(data, CONTENT)
    _put(cache, b"never looked at")
    assert files.read_published(NAME) == CONTENT
    assert server.paths == []


def test_the_cache_comes_before_the_network(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    _put(cache, CONTENT)
    assert files.read_published(NAME) == CONTENT
    assert server.paths == []


def test_without_dcshap_data_the_cache_is_used(places, monkeypatch):
    _, cache = places
    monkeypatch.delenv("DCSHAP_DATA")
    _put(cache, CONTENT)
    assert files.read_published(NAME) == CONTENT


def test_the_cache_is_the_system_s_unless_dcshap_cache_names_another(places, monkeypatch):
    _, cache = places
    file = files.PUBLISHED[NAME]
    assert files.cache_path(file) == cache / NAME
    monkeypatch.delenv("DCSHAP_CACHE")
    assert files.cache_path(file) == pooch.os_cache("dcshap") / NAME


def test_a_download_goes_to_the_cache_once_and_is_silent(places, monkeypatch, server, capfd, caplog):
    _, cache = places
    _publish(monkeypatch, url=f"{server.address}/public/va")
    level = pooch.get_logger().level
    assert files.read_published(NAME) == CONTENT
    assert files.read_published(NAME) == CONTENT
    assert server.paths == ["/public/va"]
    assert (cache / NAME).read_bytes() == CONTENT
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelno >= logging.INFO] == []
    assert pooch.get_logger().level == level


def test_a_damaged_file_in_the_cache_is_replaced_by_a_download(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    path = _put(cache, b"damaged")
    assert files.read_published(NAME) == CONTENT
    assert path.read_bytes() == CONTENT


def test_no_network_says_which_file_where_it_looked_and_where_to_put_it(places, closed_address):
    data, cache = places
    message = _message()
    assert f"The data file {NAME}" in message
    assert f"{data / NAME}: no such file" in message
    assert f"{cache / NAME}: no such file" in message
    assert f"{closed_address}/{NAME}: ConnectionError" in message
    assert files.PUBLISHED[NAME].sha256 in message
    assert f"save it as {NAME} below a folder of your own, and set the environment variable DCSHAP_DATA" in message
    assert _files_in(cache) == []


def test_the_error_says_that_dcshap_data_is_not_set(places, monkeypatch):
    monkeypatch.delenv("DCSHAP_DATA")
    assert "the folder in DCSHAP_DATA: the variable is not set" in _message()


def test_a_wrong_file_in_dcshap_data_is_an_error_and_not_passed_over(places, monkeypatch, server):
    data, cache = places
    _publish(monkeypatch, url=server.address)
    path = _put(data, b"another edition")
    _put(cache, CONTENT)
    message = _message()
    wrong = hashlib.sha256(b"another edition").hexdigest()
    assert f"{path}: not the published file, its sha256 is {wrong}" in message
    assert server.paths == []
    assert path.read_bytes() == b"another edition"


def test_a_file_that_cannot_be_read_is_named(places):
    data, _ = places
    (data / NAME).mkdir(parents=True)
    assert f"{data / NAME}: cannot be read (" in _message()


def test_a_wrong_file_at_the_public_address_is_refused_and_not_kept(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    server.answer = b"<html>moved</html>"
    message = _message()
    assert f"{server.address}: ValueError" in message
    assert hashlib.sha256(server.answer).hexdigest() in message
    assert _files_in(cache) == []


def test_a_download_that_breaks_off_leaves_nothing_behind(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    server.answer, server.announced = CONTENT[:10], len(CONTENT)
    assert f"{server.address}: " in _message()
    assert _files_in(cache) == []


def test_a_page_not_found_is_reported_as_such(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    server.status = 404
    assert "404" in _message()
    assert _files_in(cache) == []


def test_a_server_that_does_not_answer_times_out(places, monkeypatch, server):
    _, cache = places
    _publish(monkeypatch, url=server.address)
    monkeypatch.setattr(files, "TIMEOUT", 0.1)
    server.release.clear()
    assert "timed out" in _message()
    assert _files_in(cache) == []


def test_a_cache_that_cannot_be_written_is_reported(places, monkeypatch, tmp_path, server):
    _publish(monkeypatch, url=server.address)
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("DCSHAP_CACHE", str(blocked))
    message = _message()
    assert f"{blocked / NAME}: cannot be read" in message
    assert f"{server.address}: " in message
