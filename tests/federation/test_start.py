"""One process tree per site: a second start, a port that is taken, a killed command; where the server listens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from dcshap.exceptions import FederationError, InputError
from dcshap.federation.flare.kits import secure_server
from dcshap.federation.flare.listening import LISTEN, address_of, server_of
from dcshap.federation.flare.local import provision
from dcshap.federation.flare.processes import SiteProcess, free_port, is_running

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
BUSY = 120.0  # seconds that a start may take


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    made = provision(tmp_path_factory.mktemp("start"), port=free_port(), parties=["bank", "shop"], requesters=[])
    secure_server(made["localhost"])
    return made["localhost"]


def test_a_second_start_is_refused_names_the_first_and_leaves_it_running(kit):
    port = server_of(kit.folder)[1]
    with SiteProcess(kit) as first:
        first.wait_for_port(port, timeout=BUSY)
        assert first.is_up()
        second = SiteProcess(kit)
        with pytest.raises(FederationError, match=rf"running already, as process {first.processes()[0].pid}"):
            second.start()
        second.stop()
        assert first.is_up()
        assert is_running(kit)
    assert not is_running(kit)


def test_a_killed_command_leaves_no_orphans_and_starting_again_works(kit):
    command = [sys.executable, "-m", "dcshap", "federation", "analyst", "start", str(kit.folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        said = ""
        while "is up" not in said:
            said = started.stderr.readline()
            assert said, "the command ended"
        tree = psutil.Process(started.pid).children(recursive=True)
        os.kill(started.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(tree, timeout=20)
    assert alive == []
    with SiteProcess(kit) as again:
        again.wait_for_port(server_of(kit.folder)[1], timeout=BUSY)


@pytest.mark.slow
def test_a_server_whose_port_another_program_uses_is_not_called_up(kit):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", server_of(kit.folder)[1]))
        other.listen()
        with SiteProcess(kit) as site:
            time.sleep(8)
            assert not site.is_up()


def test_the_server_listens_where_its_name_points_to_and_nowhere_else():
    assert address_of("localhost") == address_of("127.0.0.1") == "127.0.0.1"
    assert address_of("analyst.example.org", "10.0.0.5") == "10.0.0.5"
    with pytest.raises(InputError, match="Say which to listen on: --listen"):
        address_of("no-such-host.invalid")


def test_a_server_of_another_name_listens_on_the_given_address_only(kit, tmp_path):
    folder, port = tmp_path / "server", free_port()
    shutil.copytree(kit.folder, folder)
    path = folder / "startup" / "fed_server.json"
    content = json.loads(path.read_text())
    content["servers"][0]["service"]["target"] = f"analyst.example.org:{port}"
    content["servers"][0]["admin_port"] = port
    path.write_text(json.dumps(content))
    elsewhere = replace(kit, folder=folder)
    secure_server(elsewhere)
    with SiteProcess(elsewhere, env={LISTEN: "127.0.0.1"}) as site:
        site.wait_for_port(port, timeout=BUSY)
        listening = {
            connection.laddr.ip
            for process in site.processes()
            for connection in process.net_connections(kind="inet")
            if connection.status == psutil.CONN_LISTEN
        }
    assert listening == {"127.0.0.1"}
