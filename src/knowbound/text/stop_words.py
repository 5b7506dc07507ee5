"""English stop words by their grammar: words that do not show the subject of a text."""

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
# For ranking items by shared words: fewer adverbs and modal verbs than STOP_WORDS, but everyday verbs. On the second
# half of LoCoMo, recall@5 is 0.591 with these words, 0.584 with STOP_WORDS, 0.583 with both together.
SEARCH_STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing done down during each few for from further get gets getting give go goes "
    "going got had has have having he her here hers him his how i if in into is it its itself just know let lets "
    "like look make me more most my no nor not now of off on once one only or other our ours out over own please "
    "put really same say see she should show so some still such take tell than that the their theirs them then "
    "there these they thing this those through to too under until up us use very want was way we well were what "
    "when where which while who whom why will with without would you your yours".split()
)
# Words that every code base has: a name that is one of them, or that two names share, says nothing.
CODE_WORDS = frozenset(
    "func function def class const let var export import from interface type types struct async await return public "
    "private the and for with src test tests spec lib index main true false null none json yaml yml tsx jsx mjs get "
    "set new file files name names data value string list error errors handle handler update create config default "
    "user use using make path code app cmd pkg internal package packages module component components util utils "
    "helper helpers service services common shared core base run start stop init build add remove check status state "
    "info result item key map case this that not all any one can has have will into script scripts page pages view "
    "model api web cli readme docs local".split()
)
