"""What the demo looks into: noise of every usual kind, the same each time, with one answer in each."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

_SEED = 7
_TESTS = 300
_ORDERS = 700
_SERVICES = ("gateway", "payment", "catalog", "mailer", "search", "session")
_CITIES = ("Lisbon", "Tromsø", "Nagoya", "Quito", "Gdańsk", "Perth", "Accra", "Turin")

LOG_QUESTION, LOG_ANSWER = "why did order 48213 fail?", "card issuer gave no answer within 30 s"
TEST_QUESTION, TEST_ANSWER = "which test failed, and why?", "AssertionError: 8500 != 9000"
API_QUESTION, API_ANSWER = "why is order A-1077 on hold?", "house number does not exist"
PAGE_QUESTION, PAGE_ANSWER = "how long are backups kept?", "kept for 35 days"
HISTORY_QUESTION, HISTORY_ANSWER = "which commit rounded prices down?", "e4b19c07"


def write_log(path: Path) -> None:
    """Two megabytes of a shop's log: routine, warnings, failures, one of which is asked for."""
    random, lines = Random(_SEED), []
    for number in range(24_000):
        clock = f"2026-11-30T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        service, order = random.choice(_SERVICES), 40_000 + random.randrange(8_000)
        if number == 15_211:
            lines.append(f"{clock} ERROR [payment] order 48213 failed: {LOG_ANSWER} (attempt 3 of 3)")
        elif number % 1_700 == 400:
            lines.append(f"{clock} ERROR [{service}] order {order} failed: stock reservation expired")
        elif number % 97 == 0:
            lines.append(f"{clock} WARN  [{service}] slow query, {random.randrange(800, 3000)} ms for order {order}")
        else:
            lines.append(
                f"{clock} INFO  [{service}] order {order} step {random.randrange(9)} done in {random.randrange(90)} ms"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_tests(folder: Path) -> None:
    """A test module with hundreds of tests, of which one fails."""
    cases = "\n".join(
        f"    def test_price_of_{number}_items(self):\n        self.assertEqual(price({number}), {number * 1000})"
        for number in range(1, _TESTS)
    )
    failing = "    def test_discount_for_ten_items(self):\n        self.assertEqual(price(10) - discount(10), 9000)\n"
    code = "def price(items):\n    return items * 1000\n\n\ndef discount(items):\n    return items * 150\n"
    text = f"import unittest\n\n\n{code}\n\nclass Shop(unittest.TestCase):\n{cases}\n{failing}"
    (folder / "test_shop.py").write_text(text, encoding="utf-8")


def orders() -> bytes:
    """The reply of an API: a list of orders."""
    random = Random(_SEED)
    found: list[dict[str, Any]] = []
    for number in range(_ORDERS):
        order: dict[str, Any] = {
            "id": f"A-{1000 + number}",
            "status": random.choice(("paid", "packed", "sent", "delivered")),
        }
        if number == 77:
            order |= {"status": "on hold", "note": f"the {API_ANSWER} in the street that was given"}
        order |= {"city": random.choice(_CITIES), "total_cents": random.randrange(500, 90_000)}
        order["items"] = [{"sku": f"S{random.randrange(9999):04}", "count": random.randrange(1, 5)} for _ in range(3)]
        found.append(order)
    return json.dumps({"orders": found}, ensure_ascii=False, indent=1).encode()


def page() -> bytes:
    """A page of a manual, with the markup around it that pages have."""
    menu = "".join(
        f'<li class="nav-item"><a class="nav-link" href="/manual/{n}">Chapter {n}</a></li>' for n in range(150)
    )
    random, sections = Random(_SEED), []
    subjects = ("accounts", "invoices", "exports", "roles", "webhooks", "limits", "regions", "audit trails", "imports")
    for number in range(140):
        subject = subjects[number % len(subjects)]
        hours = random.randrange(1, 72)
        text = (
            f"Changes to {subject} take effect within {hours} hours. An owner can review them under Settings, "
            f"page {number + 1}, and revoke them until then. "
        ) * 3
        if number == 91:
            text = f"A backup is made each night. Backups are {PAGE_ANSWER}, in the region of the account. " + text
        title = "Backups" if number == 91 else f"{subject.capitalize()}, part {number}"
        sections.append(f'<section class="doc-section"><h2 id="s{number}">{title}</h2><p>{text}</p></section>')
    style = ".nav-item{display:block;padding:4px 8px}" * 40
    script = "window.analytics=window.analytics||[];analytics.push(['page','manual']);" * 40
    return (
        f"<!doctype html><html><head><title>Manual</title><style>{style}</style><script>{script}</script></head>"
        f"<body><nav><ul>{menu}</ul></nav><main>{''.join(sections)}</main></body></html>"
    ).encode()


def write_history(path: Path) -> None:
    """What `git log --oneline --stat` prints, for where there is no repository."""
    random, lines = Random(_SEED), []
    verbs, things = ("Add", "Fix", "Rename", "Move", "Test", "Document"), ("export", "login", "cart", "index", "cache")
    for number in range(900):
        subject = f"{random.choice(verbs)} {random.choice(things)} of {random.choice(_SERVICES)}"
        name = f"{random.getrandbits(32):08x}"
        if number == 512:
            subject, name = "Round prices down, as the contract says", HISTORY_ANSWER
        lines.append(f"{name} {subject}")
        for _ in range(random.randrange(1, 6)):
            changed = random.randrange(1, 60)
            lines.append(
                f" src/{random.choice(_SERVICES)}/{random.choice(things)}.py | {changed:>3} {'+' * (changed // 2)}"
            )
        lines.append(f" {random.randrange(1, 6)} files changed, {random.randrange(90)} insertions(+)")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
