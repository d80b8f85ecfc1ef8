#!/usr/bin/env python3
"""renew_digests.py TESTS: takes into content_digests.inc what TESTS (conformance_tests) says that ids stand for now.

A line that is there is replaced, which is right until the first release. After it an id whose content has changed gets a
new version in registered.cc first: its line is then added, and the old one stays.
"""

import pathlib
import re
import subprocess
import sys

LINE = re.compile(r'\{"([a-z0-9_.]+)",\s+"([0-9a-f]{64})"\}')


def main():
    if len(sys.argv) != 2:
        sys.exit("renew_digests.py: name the test program, build/dev/bin/conformance_tests")
    said = subprocess.run([sys.argv[1], "--gtest_filter=ContentLedger*"], stdout=subprocess.PIPE, text=True).stdout
    ledger = pathlib.Path(__file__).with_name("content_digests.inc")
    rows = dict(LINE.findall(ledger.read_text()))
    new = dict(LINE.findall(said))
    rows.update(new)
    ledger.write_text("".join(f'    {{"{id}",\n     "{rows[id]}"}},\n' for id in sorted(rows)))
    print(f"{len(new)} of {len(rows)} ids stand for something else than the ledger said; build again")


main()
