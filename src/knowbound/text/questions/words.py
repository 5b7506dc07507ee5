"""Nouns and verbs with which questions about code are asked, apart from what the questions are about."""

from __future__ import annotations

from functools import lru_cache

# Nouns that say what sort of thing is meant, not which.
GENERIC = frozenset(
    "class file module function method option setting parameter argument variable constant attribute property "
    "field helper decorator exception command flag type object code logic implementation definition declaration "
    "usage use user caller callers place part line bug issue problem way thing reason codebase repo repository "
    "project package source location path folder directory lot name purpose difference entry section page "
    "document doc documentation chapter heading note notes struct enum trait interface routine subroutine "
    "procedure script symbol identifier keyword param arg config-key key env environment feature mechanism "
    "machinery functionality behaviour behavior details detail spot point piece bit role job task step steps "
    "instance member consumer reference references call site sites header-file macro literal string message text "
    "component unit library example snippet subclass superclass something anything nothing value base-class "
    "classes methods idea concept term meaning question answer information info overview comparison correctness "
    "safety misuse lines statement statements relation relationship".split()
)
# What is said of a thing at the end of "is the X …?": a judgement, not a part of its name.
PREDICATES = frozenset(
    "safe correct right wrong secure insecure sound thread-safe threadsafe idiomatic robust reentrant re-entrant "
    "ok okay fine efficient fast slow broken complete incomplete consistent deprecated async synchronous lazy "
    "immutable optional required public private abstract necessary needed unused dead valid invalid stable "
    "unstable portable idempotent documented tested covered racy leaky vulnerable available".split()
)
# These alone say how much or which of a generic thing: "the default value".
MEASURES = frozenset("default maximum minimum total initial max min base first last next".split())
# Adjectives before a noun that do not belong to its name.
VACUOUS = frozenset(
    "actual whole entire exact relevant particular specific corresponding certain respective various several "
    "overall following right correct proper so-called".split()
)
# These may belong to it ("the current context"): they go only where enough of a name stays.
SAYING_WHICH = frozenset("current existing main real own underlying same new old".split())
# What people do with a named thing in code: these say how it is met, not which thing it is.
LIGHT_VERBS = frozenset(
    "implement define declare contain have hold handle manage provide perform do own keep house host live reside "
    "sit exist appear happen occur come go work belong relate concern cover describe document mention discuss "
    "specify call use invoke reference import require need depend rely consume touch access instantiate construct "
    "create make build initialise initialize register configure set read write store save load fetch get put open "
    "close start stop run execute trigger fire emit raise throw catch print log show display output return yield "
    "pass receive accept take give check enforce validate verify apply compute calculate determine decide find "
    "locate look search see point tell know want like learn understand explain clarify walk navigate jump bring "
    "send help review audit inspect compare contrast differ edit change modify rename remove delete extend update "
    "fix patch refactor add move replace affect break involve include expose export override inherit subclass "
    "wrap process parse control govern drive support introduce originate stem test debug report trace maintain "
    "set-up setup consult respect honour honor populate generate produce reset clear pull deal serve assign "
    "evaluate resolve lookup consider matter mean say remember wonder wondering suspect believe think ask try "
    "reach assume plan intend guess hear heard spell list let summarise summarize outline dig read-up grasp "
    "figure sketch share sort-out cope treat reveal represent model embody encapsulate denote correspond tweak "
    "adjust customise customize alter rework improve investigate examine study adapt".split()
)
_MORE_VERBS = frozenset(
    "cache filter hook limit queue route order sort group split join merge map render draw paint format convert "
    "transform translate turn encode decode escape unescape serialize serialise deserialize marshal compress "
    "decompress encrypt decrypt sign hash normalise normalize sanitise sanitize strip trim redirect forward proxy "
    "dispatch schedule retry poll watch listen connect disconnect bind attach detach mount install upgrade "
    "download upload stream buffer flush lock release acquire allocate free expire rotate refresh invalidate "
    "measure count match compile interpolate expand collapse truncate wrap pad align highlight colour color "
    "colorize detect guess infer prevent avoid ensure guarantee protect guard authenticate authorise authorize "
    "grant deny reject ignore skip suppress delay throttle batch iterate walk traverse visit scan index rank "
    "negotiate inject replace copy clone commit rollback save restore propagate bubble notify publish subscribe "
    "broadcast cancel abort exit clean prune choose select pick prefer prioritise prioritize combine concatenate "
    "append prepend insert push pop follow quote respond reply answer react behave fail succeed recover heal "
    "survive tolerate repair revert undo redo simulate emulate mimic fake mock stub patch spawn fork kill "
    "terminate shut boot launch bootstrap wait sleep block unblock yield resume pause suspend continue loop "
    "repeat recurse descend climb shrink grow resize scale fit clip crop flip shift swap exchange trade borrow "
    "lend share reuse recycle collect gather harvest fetch retrieve obtain extract derive deduce predict estimate "
    "approximate round floor ceil clamp cap bound constrain restrict permit allow forbid disallow prohibit warn "
    "alert inform signal ping probe poke prod query crawl spider scrape sniff peek seek rewind tell extend "
    "enlarge widen narrow tighten loosen relax harden soften obfuscate mask unmask hide conceal redact censor "
    "annotate tag label mark flag stamp seal unwrap pack unpack zip unzip inflate deflate archive bundle package "
    "ship deploy deliver distribute replicate mirror sync synchronise synchronize reconcile diff tokenize "
    "tokenise lex lint check type cast coerce box unbox pickle unpickle jsonify stringify hydrate dehydrate "
    "memoize memoise defer enqueue dequeue drain spill evict warm preload prefetch precompute cycle balance shard "
    "partition segment slice chunk window bucket bin cluster classify categorise categorize sift rate score weigh "
    "grade judge vote elect nominate appoint delegate assign unassign link unlink chain nest flatten inline "
    "outline hoist lift lower raise rise fall drop ascend localise localize pluralize capitalize".split()
)
VERBS = LIGHT_VERBS | _MORE_VERBS
# Verbs that are hardly ever nouns or parts of a name; all others are verbs only where the sentence says so.
_ONLY_VERBS = frozenset(
    "implement define declare contain hold handle manage provide perform keep reside exist appear happen occur "
    "come belong concern describe mention discuss specify invoke require depend rely consume instantiate "
    "construct create make initialise initialize configure write save fetch put execute emit throw catch print "
    "receive accept take give enforce validate verify apply compute calculate determine decide find locate see "
    "tell know want learn understand explain clarify navigate bring send inspect compare contrast differ modify "
    "rename remove delete add affect involve include expose inherit parse govern introduce originate maintain "
    "consult respect honour honor populate generate produce deal serve assign evaluate resolve consider mean say "
    "remember believe think ask try convert transform translate turn encode decode serialize serialise "
    "deserialize decompress encrypt decrypt normalise normalize sanitise sanitize redirect connect disconnect "
    "bind attach detach install allocate expire invalidate interpolate expand truncate detect infer prevent avoid "
    "ensure guarantee protect authenticate authorise authorize grant deny reject ignore suppress iterate traverse "
    "negotiate inject restore propagate notify publish subscribe prune choose select prefer combine concatenate "
    "append prepend insert follow respond behave fail succeed recover survive tolerate repair terminate shut "
    "resume suspend continue obtain extract derive deduce estimate restrict permit allow forbid render compose "
    "split join merge sort replace sign strip".split()
)
NOUN_TOO = VERBS - _ONLY_VERBS
_IRREGULAR = {
    "built": "build", "made": "make", "found": "find", "written": "write", "wrote": "write", "kept": "keep",
    "sent": "send", "held": "hold", "thrown": "throw", "caught": "catch", "shown": "show", "taken": "take",
    "took": "take", "given": "give", "gave": "give", "got": "get", "read": "read", "set": "set", "put": "put",
    "run": "run", "ran": "run", "split": "split", "bound": "bind", "chosen": "choose", "overridden": "override",
    "known": "know", "said": "say", "came": "come", "came from": "come", "went": "go", "done": "do", "drawn": "draw",
    "broken": "break", "dealt": "deal", "meant": "mean", "began": "begin", "spelled": "spell",
}  # fmt: skip
PARTICIPLES = frozenset(_IRREGULAR) - {"wrote", "took", "gave", "ran", "came", "went", "began"}
# Verbs with which a message orders something; rules decide which change, run or search they stand for.
CHANGES = frozenset(
    "adapt add adjust allow alter amend annotate append apply archive assign backport bump cap change clean "
    "cleanup collapse comment commit consolidate convert copy create cut deal decouple decrease deduplicate "
    "delete deprecate disable document drop edit eliminate enable enforce enhance erase exclude expand expose "
    "extend extract factor fix flip format generalise generalize get give guard halve handle harden hide hoist "
    "implement improve include increase inline insert install integrate introduce kill let limit loosen lower "
    "make merge migrate mock modernise modernize modify move mute narrow optimise optimize order override "
    "parametrise parametrize patch pin port prefix prevent propagate provide pull push put raise redo reduce "
    "refactor reformat register relax remove rename reorder reorganise reorganize replace reset resolve restore "
    "restrict restructure reuse revert rework rewrite rotate round set shorten shrink silence simplify skip speed "
    "split stop stub support suppress swap switch throw tighten toggle translate trim tune turn tweak unify unpin "
    "update upgrade use validate widen wire wrap write".split()
)
RUNS = frozenset(
    "run execute launch start kick trigger rerun do perform fire invoke build rebuild compile recompile crosscompile "
    "assemble link bundle package produce test retest make".split()
)
REVIEWS = frozenset(
    "review audit critique assess evaluate inspect check double-check sanity-check scrutinise scrutinize vet verify "
    "examine proofread tear roast hunt poke judge approve rate criticise criticize grade".split()
)
EXPLAINS = frozenset(
    "explain describe summarise summarize outline clarify walk understand tell teach talk elaborate define guide "
    "introduce-me brief recap sketch".split()
)
FINDS = frozenset(
    "find locate search look open go goto show point take jump navigate bring list see display print grep get-me "
    "identify spot enumerate count name dig scan hunt-down track trace browse view read".split()
)
COMPARES = frozenset("compare contrast diff distinguish differentiate".split())
DIAGNOSES = frozenset("diagnose debug investigate troubleshoot analyse analyze figure".split())
ORDERS = CHANGES | RUNS | REVIEWS | EXPLAINS | FINDS | COMPARES | DIAGNOSES | {"have", "remind", "keep", "consider"}
# Words of questions that are recognised with one typing error.
CORRECTED_WORDS = frozenset(
    "where which what explain compare review defined implemented locate describe understand difference between "
    "called calls does".split()
)


@lru_cache(maxsize=20_000)
def verb_base(word: str) -> str | None:
    """The verb that a word is a form of, where it is one we know."""
    word = word.lower()
    if word in VERBS:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for suffix, endings in (("ies", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ied", ("y",)), ("ed", ("", "e")),
                            ("ing", ("", "e"))):  # fmt: skip
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            for ending in endings:
                if base + ending in VERBS:
                    return base + ending
            if suffix in ("ed", "ing") and len(base) > 2 and base[-1:] == base[-2:-1] and base[:-1] in VERBS:
                return base[:-1]
    return None


def is_participle(word: str) -> bool:
    """Whether a word can end "is the X …": `defined`, `read`, `enforced`, also of verbs we do not know."""
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3)
