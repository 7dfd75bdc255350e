"""Word lists of search: what to leave out of a question, what means the same, what a failure looks like."""

from __future__ import annotations

from functools import cache

from capy_core.porter import stem

# Function words only. Task words (list, find, show, get, type) carry meaning in questions about code.
_FUNCTION_WORDS = """
a about after against all also am among an and any are as at be because been before being below between both but
by can could d did do does doing don during each for from further had has have having he her here hers him his
how i if in into is it its just ll m may me might mine more most must my no nor not of off on once only or other
our out own please re s same shall she should so some such t tell than that the their theirs them then there
these they this those through to too under until us ve very was we were what when where which while who whom
whose why will with without would you your yours
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

# Words that stand for each other almost always: short and long forms, two spellings. A hyphen joins a phrase.
_SAME = """
addr address
admin administrator administration
app application
arg argument
async asynchronous
auth authentication authn authenticate
authz authorization authorisation
behavior behaviour
bool boolean
canceled cancelled
cert certificate
cfg conf config configuration
color colour
conn connection
cpu processor
db database
dep dependency
dev development
dict dictionary
dir directory folder
doc documentation
env environment
err error
exec execute execution
fn func function
gc garbage-collection garbage-collector
img image
impl implementation
init initialize initialise initialization
int integer
js javascript
k8s kubernetes
lib library
license licence
max maximum
mem memory
min minimum
msg message
num number
oom out-of-memory oomkilled
param parameter
perf performance
pg postgres postgresql
pkg package
pr pull-request
prod production
pwd passwd password
py python
ref reference
regex regexp regular-expression
repo repository
req request
resp response
sec second
serialise serialize
spec specification
stat statistic
str string
sync synchronize synchronization
temp tmp temporary
tls ssl
ts typescript
tz timezone time-zone
util utility
var variable
ver version
vuln vulnerability cve
warn warning
"""

# Words that often answer for each other; they count for less.
_NEAR = """
absent missing not-found
advisory vulnerability
allow permit
average mean
bug defect issue
build compile
busy load utilization
cannot unable could-not
certificate expired
commit revision changeset
complain complaint warning error
container docker pod
crash crashed crashloopbackoff panic segfault core-dumped
deadlock hang hung stuck
delete remove drop
denied refused rejected forbidden unauthorized
deploy release rollout
deprecated obsolete
download fetch fetched pull
duplicate twice already-exists
duration elapsed took
endpoint api route path
failed failure error
fast speed quick
finish finished completed succeeded
forbidden 403
full no-space
highest largest max maximum
host address ip
invalid malformed illegal unexpected
kill killed terminated sigkill oomkilled
label tag
leader master primary
limit quota exceeded rate-limit too-many-requests 429
locked in-use
login logged-in sign-in signin
long elapsed took duration
lowest smallest min minimum
memory heap rss ram
network connection unreachable
node host machine
null none nil
passed ok success succeeded
permission access
print output
recent latest last
restart reboot restarted
retry attempt
serious severity critical
server upstream
severity critical high moderate
size bytes
slow latency bottleneck throughput elapsed
start started listening launched boot
stop stopped halted aborted
storage disk volume
test spec case
time elapsed duration
timeout timed-out deadline
total summary totals overall
unavailable 503
undefined undeclared not-defined cannot-find
unreachable connection-refused no-route
unused never-used dead-code
update upgrade bump
webhook callback
whole total overall
"""

_FAILURE_QUESTION = """
abort bad break broke broken crash died error exception fail failing failure fatal faulty fix problem reject reason
refuse wrong
"""

# What a line that tells of a failure holds, in lower case; parts of words too, as in NullPointerException.
FAILURE_MARKS = (
    "error", "exception", "fail", "fatal", "panic", "denied", "refused", "timed out", "not found", "no such",
    "traceback", "segmentation", "core dumped", "killed", "unreachable", "crashloop", "abort", "cannot", "could not",
    "unable", "undefined", "✗", "✘", "❌",
)  # fmt: skip


def synonyms(word: str) -> dict[str, float]:
    """Other words for a lower-case word -> how much they count beside it (below 1). Several words are one phrase."""
    return _table().get(stem(word), {})


def is_failure_word(word: str) -> bool:
    """True when the word makes its question one about something that went wrong."""
    return stem(word) in _failure_stems()


@cache
def _failure_stems() -> frozenset[str]:
    return frozenset(map(stem, _FAILURE_QUESTION.split()))


@cache
def _table() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for groups, weight in ((_SAME, 0.8), (_NEAR, 0.4)):
        for line in groups.strip().splitlines():
            forms = [form.replace("-", " ") for form in line.split()]
            for form in forms:
                others = table.setdefault(stem(form), {})
                for other in forms:
                    if stem(other) != stem(form):
                        others.setdefault(other, weight)
    return table
