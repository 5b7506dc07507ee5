"""Synonyms of programmers: encrypt and cipher, evict and expire, retry and attempt.

Each line is a group. A synonym helps to find a place in other words; evidence through a synonym is Moderate at best
(specification 3: the found thing must be the one asked for, not a similar one).
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from knowbound.text.stems import stem
from knowbound.text.thesaurus import links_of, number_of, words_of_term

_GROUPS = """
encrypt cipher crypt aes
decrypt decipher
evict expire purge reap prune sweep
delete remove drop unlink erase discard rm del
stop shutdown terminate kill halt abort quit
start launch boot spawn begin run
create make new build construct instantiate
retry attempt again backoff reattempt
wait block sleep pause poll await
limit cap max maximum bound quota threshold ceiling
throttle ratelimit limiter limit
queue backlog pending waiting
job task work unit
worker helper runner thread
lock mutex semaphore exclusive
concurrent parallel simultaneous race
leader master primary coordinator
follower replica secondary peer slave
elect vote election ballot candidate
node server machine host peer
cluster membership quorum majority
snapshot image dump checkpoint
checksum crc hash digest verify integrity
corrupt damaged broken invalid mangled
cache memoize remember store keep
save persist write store flush dump
load read restore fetch open
parse decode deserialize unmarshal interpret
serialize encode marshal dump stringify format
send write emit transmit dispatch push post
receive read accept recv get
connect dial open attach establish
disconnect close hangup detach drop
connection socket conn link channel
close shut dispose destroy release free
idle unused inactive stale
timeout deadline expiry ttl elapsed
borrow acquire checkout lease take obtain
return release recycle giveback requite
pool bag reservoir
rollback revert undo abort
commit apply finalize persist
transaction tx unit
error exception failure fault panic
raise throw panic fail
catch handle recover rescue
log record trace print
warn alert notice
validate check verify ensure assert
compare equal match differ diff
secret password token credential key passphrase
leak timing constant safe
sign signature hmac mac
auth authenticate login signin credential
authorize permit allow grant permission
deny reject refuse forbid block
guess brute attempt pin
session cookie login
request req call query
response reply answer res
header field
route path endpoint url handler
match resolve lookup find
dispatch route forward mount delegate
redirect forward location
middleware filter interceptor handler
handler callback listener hook
event signal notification message
notify signal wake inform trigger
subscribe listen observe watch
config setting option preference configuration
default fallback
argument parameter option flag arg
environment env variable
folder directory dir
file path document
rename move mv
copy clone duplicate
temporary temp tmp scratch
string text str
number integer int numeric count
convert transform translate turn coerce cast
reference alias pointer ref anchor
duplicate repeat same twice identical
expand explode bomb amplify blow
position offset index column row line
escape quote sanitize
color colour style theme ansi
terminal tty console screen
pager less viewer
highlight syntax colour
binary nontext bytes
detect guess recognise determine infer identify
header head method
clock time wall monotonic
backward retrograde skew
thread goroutine fiber process
child subprocess spawn process
process fork exec program
signal sig interrupt
descriptor fd handle emfile
dns resolve lookup getaddrinfo name
slow sluggish delay lag
many flood burst excess
half partial fraction
schedule cron timer periodic interval
duration interval period seconds
merge combine join
split divide chunk partition
sort order rank arrange
filter exclude skip ignore
group batch bundle
compress gzip zip deflate shrink
cancel abort interrupt stop
register add install attach
unregister remove detach
initialize init setup prepare
reset clear empty zero
update refresh renew modify change
count tally number total
measure metric stat gauge
replicate mirror propagate sync copy
transfer handover move handoff
successor next replacement target
contact reach heartbeat ping
term round epoch
entry record item element
append add push insert
truncate cut shorten trim
strip trim remove
prefix start beginning leading
suffix end trailing extension ending
duplicate idempotent repeat
payment charge idempotency
upload multipart form
download fetch get
static asset file
template view render
render draw display paint show
print output show display write
hide mask conceal redact
import include require load
export expose publish
version release revision
test spec check
mock stub fake
user account client
owner author
client browser consumer caller
proxy forward relay
certificate cert tls ssl
address ip addr
port listen bind
stream pipe flow
buffer chunk block
empty blank none nothing
missing absent lacking
optional nullable maybe
required mandatory must
deprecated obsolete legacy old
recursion recursive nested cycle circular
tree node branch
list array slice sequence vector
map dictionary dict object hash
key name identifier id
value content data payload
type kind class
copy clone snapshot
""".strip().splitlines()


def _by_word() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in _GROUPS:
        group = {stem(word) for word in line.split()}
        for word in group:
            found[word] |= group
    return {word: frozenset(group - {word}) for word, group in found.items()}


_BY_WORD = _by_word()


@lru_cache(maxsize=5_000)
def synonyms_of(word: str) -> frozenset[str]:
    """Return the stems of single words that mean the same as a stem."""
    number = number_of(word)
    linked = (words_of_term(other) for other, worth in links_of(number) if worth >= 1.0) if number is not None else ()
    return _BY_WORD.get(word, frozenset()) | frozenset(words[0] for words in linked if len(words) == 1) - {word}
