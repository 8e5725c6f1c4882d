"""A crawl with Scrapy; skipped where Scrapy is not installed."""

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("scrapy")

PAGES = 20_000 if os.environ.get("MAYHAP_SOAK") else 1_000

SPIDER = """
import sys, scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [sys.argv[1] + "/0"]

    def parse(self, response):
        for link in response.text.split():
            yield response.follow(link)

process = CrawlerProcess({
    "DUPEFILTER_CLASS": "pymayhap.scrapy.DupeFilter",
    "MAYHAP_DUPEFILTER_CAPACITY": 100,
    "JOBDIR": sys.argv[2],
    "LOG_LEVEL": "INFO",
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "TELNETCONSOLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
})
process.crawl(Pages)
process.start()
"""


@pytest.fixture
def site():
    """Pages that link to pages, each reached in several ways; and who was fetched how often."""
    fetched, lock = {}, threading.Lock()

    class Page(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            number = int(self.path.split("?")[0].strip("/"))
            with lock:
                fetched[number] = fetched.get(number, 0) + 1
            links = {2 * number + 1, 2 * number + 2, number // 2, (number * 7 + 3) % PAGES}
            # The same page under another spelling of its address.
            text = "\n".join(f"/{n}?b=2&a=1\n/{n}?a=1&b=2#top" for n in links if n < PAGES)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", fetched
    server.shutdown()


def crawl(url, folder):
    return subprocess.Popen([sys.executable, "-c", SPIDER, url, str(folder)], stderr=subprocess.PIPE)


def test_a_crawl_that_is_stopped_goes_on(site, tmp_path):
    url, fetched = site
    first = crawl(url, tmp_path)
    while len(fetched) < PAGES // 3 and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    first.communicate()
    half = len(fetched)
    assert half < PAGES
    second = crawl(url, tmp_path)
    log = second.communicate()[1].decode()
    # The start page is asked for without looking at the filter.
    again = {number: times for number, times in fetched.items() if times > 1 and number != 0}
    assert not again
    assert len(fetched) == PAGES
    assert "mayhap/dupefilter/keys" in log and "mayhap/dupefilter/fpr" in log
    assert "dupefilter/filtered" in log


KILLED = """
import os, signal, sys
from scrapy import Request
from pymayhap import scrapy
scrapy.SAVE_EVERY = 700
seen = scrapy.DupeFilter(sys.argv[1], capacity=100)
for i in range(5000):
    assert not seen.request_seen(Request(f"http://a.example/{i}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_has_lost_nothing(tmp_path):
    from scrapy import Request

    from pymayhap import scrapy

    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)])
    assert killed.returncode == -signal.SIGKILL
    # Half a record at the end, as a full disk leaves it.
    with open(tmp_path / "requests.new", "ab") as journal:
        journal.write(b"\x00\x14abc")
    seen = scrapy.DupeFilter(str(tmp_path), capacity=100)
    assert all(seen.request_seen(Request(f"http://a.example/{i}")) for i in range(5000))
    assert not seen.request_seen(Request("http://a.example/5000"))
    seen.close("finished")
    again = scrapy.DupeFilter(str(tmp_path), capacity=100)
    assert again.request_seen(Request("http://a.example/5000"))
    assert not again.request_seen(Request("http://a.example/6000"))
    assert again.filter.fpr_now() < 2e-6
