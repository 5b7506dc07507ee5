"""The small words of English, by their grammar: they say nothing of what a text is about."""

from __future__ import annotations

DETERMINERS = frozenset(
    "the a an this that these those its their his her our your my any some each every all no another such both".split()
)
PRONOUNS = frozenset(
    "i we you he she it they me us him them someone somebody anyone anybody everyone who one's i'm i'd we're "
    "you're it's there's what's where's here there".split()
)
AUXILIARIES = frozenset(
    "is are was were be been being am do does did done has have had can could will would shall should may might "
    "must isn't aren't don't doesn't didn't can't won't get gets got".split()
)
PASSIVE = frozenset("is are was were be been being get gets got".split())
DO_SUPPORT = frozenset("do does did can could will would shall should may might must".split())
QUESTION_WORDS = frozenset("where which what who whom whose when why how whether".split())
PREPOSITIONS = frozenset(
    "in on at by for from with without within inside into onto to of about over under through during before after "
    "between among against across behind via per than as like near around off out up upon using".split()
)
CONNECTIVES = frozenset("and or but nor if so then else because while until unless since although though".split())
ADVERBS = frozenset(
    "not also just only even still already now currently actually exactly really precisely please kindly again "
    "ever never always often usually here there too very much more most less least else maybe perhaps first last "
    "next directly internally together hello hi hey thanks thank ok okay well back up down away ago yes yet hence "
    "vs versus vs. e.g. i.e. etc anywhere somewhere everywhere nowhere itself themselves responsible different "
    "possible able supposed going twice once".split()
)
STOP_WORDS = DETERMINERS | PRONOUNS | AUXILIARIES | QUESTION_WORDS | PREPOSITIONS | CONNECTIVES | ADVERBS
