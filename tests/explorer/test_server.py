"""The explorer as a server: who may read what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.server import report_file
from cortexdsl.models.transports.addresses import is_loopback
from tests.explorer.experiments import write_experiment
from tests.explorer.serving import serving


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = write_experiment(tmp_path_factory.mktemp("server") / "results" / "made")
    (root / "figures").mkdir()
    (root / "figures" / "a.svg").write_text("<svg/>")
    (root / "secret.txt").write_text("not of a report")
    with serving([ResultsFolder("made", root)]) as address:
        yield address


def test_every_answer_forbids_foreign_scripts_and_frames(address: str) -> None:
    for path in (
        "/",
        "/app.js",
        "/data/experiments.json",
        "/data/x/0/table.json",
        "/nowhere",
        "/report/made/report.html",
    ):
        headers = httpx.get(address + path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "unsafe-inline" not in policy.partition("style-src")[0]  # a report has its style within, no script
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost.evil.example", ""])
def test_a_foreign_name_is_turned_away(address: str, host: str) -> None:
    assert httpx.get(f"{address}/data/experiments.json", headers={"Host": host}).status_code in (400, 403)


def test_localhost_is_a_name_of_this_machine(address: str) -> None:
    port = address.rpartition(":")[2]
    assert httpx.get(f"{address}/data/experiments.json", headers={"Host": f"localhost:{port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_sites_may_not_ask(address: str, origin: str) -> None:
    assert httpx.get(f"{address}/data/experiments.json", headers={"Origin": origin}).status_code == 403


def test_what_another_site_embeds_is_refused_and_what_it_links_to_is_shown(address: str) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert httpx.get(f"{address}/data/x/0/table.json", headers=foreign).status_code == 403
    assert httpx.get(address, headers=foreign).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(address: str, method: str) -> None:
    assert httpx.request(method, f"{address}/data/experiments.json").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/report/made/secret.txt", "/report/made/plan.json", "/report/made/../../../etc/passwd",
        "/report/made/%2e%2e/%2e%2e/secret.txt", "/report/made/figures/..%2Fsecret.txt", "/data/x/1/table.json",
        "/report/made/.explorer.sqlite", "/report/made/calls/sums/r1-s01/sparse.jsonl", "/app.py", "/../server.py",
        "/data/x/0/debates/999999.json", "/data/x/0/debates/99999999999999999999.json", "/report/other/report.html",
    ],
)  # fmt: skip
def test_only_what_is_meant_to_be_seen_is_there(address: str, path: str) -> None:
    assert httpx.get(httpx.URL(address + path)).status_code == 404


def test_a_report_and_its_figures_are_served_and_its_links_lead_into_the_explorer(address: str) -> None:
    assert "view.html#/x/made" in httpx.get(f"{address}/report/made/report.html").text
    assert httpx.get(f"{address}/report/made/figures/a.svg").headers["Content-Type"].startswith("image/svg+xml")
    page = httpx.get(f"{address}/report/made/view.html").text
    assert '<base href="../../">' in page
    assert "app.js" in page


def test_another_address_asks_for_a_token_once(made: Path) -> None:
    with serving([ResultsFolder("made", made)], host="0.0.0.0", token="sesame") as address, httpx.Client() as browser:
        data = f"{address}/data/experiments.json"
        assert browser.get(data).status_code == 401
        assert browser.get(f"{data}?token=sesam").status_code == 401
        first = browser.get(f"{address}/?token=sesame")
        assert (first.status_code, first.headers["Location"]) == (303, "/")  # the token leaves the address
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert browser.get(data).status_code == 200


def test_a_link_into_the_explorer_works_with_the_token_and_says_what_to_do_without_it(made: Path) -> None:
    """Links to a report, to its numbers, and to a page of a stopped run; `#...` stays in the browser."""
    (made / "report.html").unlink(missing_ok=True)
    (made / "stopped.html").write_text("not finished")
    with serving([ResultsFolder("made", made)], token="sesame") as address:
        for link in ("/", "/report/made/view.html", "/report/made/report.html", "/data/experiments.json"):
            with httpx.Client() as browser:
                refused = browser.get(address + link)
                assert (refused.status_code, "cortexdsl view" in refused.text) == (401, True)
                assert "made" not in refused.text
                assert browser.get(f"{address}{link}?token=sesame").headers["Location"] == link
                assert browser.get(address + link).status_code == 200
                assert browser.get(f"{address}{link}?token=sesame").status_code == 303  # a second time
        with httpx.Client(follow_redirects=True) as browser:
            assert browser.get(f"{address}/report/made/report.html?token=sesame").text == "not finished"


def test_a_token_of_an_earlier_start_opens_nothing(made: Path) -> None:
    """A bookmark, a link that was sent, or the cookie of an explorer that has ended, at the same port."""
    with serving([ResultsFolder("made", made)], token="new") as address, httpx.Client() as browser:
        assert browser.get(f"{address}/?token=old").status_code == 401
        port = address.rpartition(":")[2]
        browser.cookies.set(f"cortexdsl-explorer-{port}", "old", domain="127.0.0.1", path="/")
        stale = browser.get(f"{address}/data/experiments.json")
        assert (stale.status_code, "each start has a new one" in stale.text) == (401, True)
        assert browser.get(f"{address}/?token=new").status_code == 303  # takes the place of the old cookie
        assert browser.get(f"{address}/data/experiments.json").status_code == 200


def test_a_link_with_a_token_leads_nowhere_else(made: Path) -> None:
    """Whoever knows the token could send a link that looks like the explorer's and ends elsewhere."""
    with serving([ResultsFolder("made", made)], token="sesame") as address:
        for path in ("//evil.example/", "///evil.example", "//evil.example/%0d%0aLocation:%20http://evil.example/"):
            answer = httpx.get(f"{address}{path}?token=sesame")
            assert answer.headers.get("Location", "/").startswith("/")
            assert not answer.headers.get("Location", "/").startswith(("//", "/\\"))
        kept = httpx.get(f"{address}/report/made/figures/gr%C3%B6%C3%9Fe%20a.svg?token=sesame").headers["Location"]
        assert kept == "/report/made/figures/gr%C3%B6%C3%9Fe%20a.svg"
        assert httpx.post(f"{address}/?token=sesame").status_code == 405
        assert httpx.get(f"{address}/?token=sesame", headers={"Origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.168.1.5", False),
        ("box", False),
    ],
)
def test_only_this_machines_own_addresses_need_no_token(host: str, is_own: bool) -> None:
    assert is_loopback(host) is is_own


def test_a_search_and_a_question_are_answered(address: str) -> None:
    assert len(httpx.get(f"{address}/data/x/0/search.json", params={"text": "cannot"}).json()) == 6
    asked = {"dataset": "sums", "question": "q-1"}
    assert httpx.get(f"{address}/data/x/0/question.json", params=asked).json() is None  # its spec is nowhere


def test_every_file_that_a_report_links_to_is_there_and_no_other(tmp_path: Path) -> None:
    linked = ("report.html", "metrics.csv", "tables/metrics.csv", "tables/metrics.md", "tables/metrics.tex",
              "figures/cost.svg", "figures/cost.png", "figures/column/cost.pdf")  # fmt: skip
    others = ("calls/d/r1-s01/a.csv", "figures/column/deep/cost.pdf", "other/cost.svg")
    for name in (*linked, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [name for name in linked if report_file(tmp_path, name) is None] == []
    assert [name for name in others if report_file(tmp_path, name) is not None] == []


def test_the_page_of_a_run_that_stopped_is_linked_and_served(tmp_path: Path) -> None:
    """Its folder has no report yet; a static copy has the page in the report's place."""
    place = ResultsFolder("stopped", tmp_path / "stopped")
    place.root.mkdir()
    (place.root / "stopped.html").write_text("why it stopped")
    with serving([place]) as address:
        assert httpx.get(f"{address}/report/stopped/report.html").text == "why it stopped"
        assert httpx.get(f"{address}/data/x/0/experiment.json").json()["has_report"]
