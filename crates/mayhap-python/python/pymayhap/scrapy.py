"""A duplicate filter for Scrapy that stays small: ``DUPEFILTER_CLASS = "pymayhap.scrapy.DupeFilter"``.

Scrapy's own keeps every request's fingerprint in a set, some 100 bytes each; this one keeps five bytes of each
and takes one new request in a million for a known one. It grows with the crawl without losing its rate.

With ``JOBDIR`` it goes on where the crawl stopped. What it was told is in a file before the request is scheduled,
so a crawl that is killed (``kill -9``) loses none of it.

Settings:

``MAYHAP_DUPEFILTER_FPR``
    The chance to take a new request for a known one. Default: 1e-6.
``MAYHAP_DUPEFILTER_CAPACITY``
    Requests to make room for at first; beyond them it grows. Default: 1,000,000.

Statistics in the crawl log, beside Scrapy's own: ``mayhap/dupefilter/keys``, ``/bytes`` and ``/fpr``.
"""

import logging
import os
from pathlib import Path

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import RequestFingerprinter, referer_str

from . import Filter
from . import open as open_filter

__all__ = ["DupeFilter"]

#: The filter is saved when so many requests came since, or a quarter of all, and these are then forgotten.
SAVE_EVERY = 100_000


class DupeFilter(BaseDupeFilter):
    """Tells requests that came before by the fingerprints that Scrapy itself compares."""

    def __init__(self, path=None, debug=False, *, fingerprinter=None, fpr=1e-6, capacity=1_000_000, stats=None):
        self.fingerprinter = fingerprinter or RequestFingerprinter()
        self.debug = debug
        self.logdupes = True
        self.logger = logging.getLogger(__name__)
        self.stats = stats
        self.filter = Filter(capacity, fpr, kind="scalable")
        self.journal = None
        self.since = 0
        if path:
            self._resume(Path(path), fpr)

    @classmethod
    def from_crawler(cls, crawler):
        settings = crawler.settings
        return cls(
            job_dir(settings),
            settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=crawler.request_fingerprinter,
            fpr=settings.getfloat("MAYHAP_DUPEFILTER_FPR", 1e-6),
            capacity=settings.getint("MAYHAP_DUPEFILTER_CAPACITY", 1_000_000),
            stats=crawler.stats,
        )

    def _resume(self, folder, fpr):
        """The filter as it was saved last, and what came since."""
        self.saved = folder / "requests.may"
        if self.saved.exists():
            self.filter = open_filter(self.saved)
            if self.filter.fpr != fpr:
                self.logger.warning(
                    "%s was begun with a rate of %g and keeps it (MAYHAP_DUPEFILTER_FPR says %g)",
                    self.saved, self.filter.fpr, fpr,
                )
        # Without a buffer: what is written is the system's, whatever becomes of this process.
        self.journal = open(folder / "requests.new", "a+b", buffering=0)
        self.journal.seek(0)
        data, at = self.journal.read(), 0
        while at + 2 <= len(data):
            end = at + 2 + int.from_bytes(data[at : at + 2], "big")
            if end > len(data):
                break
            self.filter.add(data[at + 2 : end])
            self.since += 1
            at = end
        # A record that was cut off was never acknowledged.
        self.journal.truncate(at)

    def request_seen(self, request):
        fingerprint = self.fingerprinter.fingerprint(request)
        if self.journal is None:
            return not self.filter.add(fingerprint)
        if fingerprint in self.filter:
            return True
        # First the file, then the filter: what is answered is remembered.
        self.journal.write(len(fingerprint).to_bytes(2, "big") + fingerprint)
        self.filter.add(fingerprint)
        self.since += 1
        if self.since >= max(SAVE_EVERY, self.filter.keys_added // 4):
            self._save()
        return False

    def _save(self):
        self.filter.save(self.saved)
        # A crash before this line replays what the filter knows already.
        self.journal.truncate(0)
        self.since = 0

    def close(self, reason):
        if self.journal is not None:
            self._save()
            os.fsync(self.journal.fileno())
            self.journal.close()
            self.journal = None
        if self.stats is not None:
            self.stats.set_value("mayhap/dupefilter/keys", self.filter.keys_added)
            self.stats.set_value("mayhap/dupefilter/bytes", self.filter.nbytes)
            self.stats.set_value("mayhap/dupefilter/fpr", self.filter.fpr_now())

    def log(self, request, spider):
        if self.debug:
            message = "Filtered duplicate request: %(request)s (referer: %(referer)s)"
            args = {"request": request, "referer": referer_str(request)}
            self.logger.debug(message, args, extra={"spider": spider})
        elif self.logdupes:
            message = (
                "Filtered duplicate request: %(request)s"
                " - no more duplicates will be shown"
                " (see DUPEFILTER_DEBUG to show all duplicates)"
            )
            self.logger.debug(message, {"request": request}, extra={"spider": spider})
            self.logdupes = False
        if self.stats is not None:
            self.stats.inc_value("dupefilter/filtered")
