"""The page in a real browser, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dcshap.report import explanation_report
from tests.report.conftest import Make

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_shows_the_page_from_disk_without_complaint(make: Make, tmp_path: Path):
    explained = make([[0.1, -0.2]], feature_names=("age", "DC Features"), bars={"DC Features": ("shop",)})
    explanation_report(explained).write(tmp_path / "page.html")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += ["--enable-logging=stderr", "--v=0", "--dump-dom"]
    done = subprocess.run(
        [str(BROWSER), *flags, (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "</html>" in done.stdout
    assert "CONSOLE" not in done.stderr  # blocked resources and broken styles are reported there
