"""The words by which a stored text tries to take an agent over (orders.py reads them).

A pattern is looked for only in text that holds one of its anchors, lower-cased and separated by bars: most text holds
few, so that screening an item costs little.
"""

from __future__ import annotations

from typing import NamedTuple


class Pattern(NamedTuple):
    """A kind of order, the anchors that text must hold for it, and the regular expression."""

    kind: str
    anchors: str
    expression: str


# The parts that patterns are made of.
_AGENT = (
    r"(?:claude|chatgpt|gpt-?\d?|copilot|gemini|codex|llms?|ais?|(?:ai|coding|language|software)\s+"
    r"(?:agents?|assistants?|models?)|chat\W?bots?|assistants?|agents?|models?)"
)
_RULES = (
    r"(?:instructions?|directions|directives?|guidelines?|guard\W?rails?|rules?|restrictions?|commands?"
    r"|orders|prompts?"
    r"|(?:system|developer)\s+(?:messages?|prompts?|instructions?)|safety\s+\w+|polic(?:y|ies)|constraints"
    r"|limitations)"
)
_EARLIER = r"(?:all|any|every|whatever|previous|prior|above|earlier|preceding|your|former|existing|original)"
_AND = r"[^\w.!?]+"  # between words of one sentence
_DROP = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|set(?:ting)?\s+aside|forget|overrid(?:e|ing)|bypass|neglect|discard|skip|drop|violate"
    r"|(?:do\s+not|don'?t|never|stop)\s+(?:follow(?:ing)?|obey(?:ing)?|listen(?:ing)?\s+to|heed(?:ing)?))"
)
_USERS = r"(?:users?|humans?|developers?|operators?|owners?|anyone|people|person)"
_TELL = r"(?:tell|inform|notify|alert|mention(?:\s+\w+)?\s+to|show|warn|let)"
_DO = (
    r"(?:please\s+)?(?:add|set|run|execute|call|insert|approve|recommend|ignore|disregard|delete|remove"
    r"|send|always|never|do\s+not"
    r"|don'?t|whene?ver|if|immediately|first|you|all\s+prior|tell|respond|reply|say|include|install"
    r"|disable|push|commit|write"
    r"|use\s+the|make\s+sure|share|store|forward|rate)\b"
)
_SECRETS = (
    r"(?:\.env\b|env(?:ironment)?\s+(?:file|var\w*)|credentials|id_rsa|\.ssh\b|private\s+keys?|ssh\s+keys?"
    r"|all\s+(?:the\s+)?secrets"
    r"|conversation(?:\s+history)?\b(?!\s+id)|chat\s+history|system\s+prompt|(?:user'?s|your|all)\s+(?:api"
    r"\s+)?(?:keys|tokens|passwords|secrets)"
    r"|(?:customer|user)s?'?\s+(?:table|data\w*|details)|billing\s+details|contact\s+list|confidential"
    r"\s+\w+|(?:all\s+)?(?:the\s+)?source\s+code"
    r"|claves\s+de)"
)
_SEND = r"(?:send|post|upload|e-?mail|forward|leak|exfiltrate|transmit|share|paste|append|encode|enviar?|envie)"
_AWAY = (
    r"(?:https?://|\bto\s+\S+@\S+|\bto\s+[\w.-]+\.(?:com|net|org|io|ru|xyz|example)\b|attacker|pastebin|\bgist\b"
    r"|external\s+(?:url|server|endpoint|webhook|part(?:y|ies))|webhook|\bdns\b|\d{1,3}(?:\.\d{1,3}){3}|\burl\b"
    r"|commit\s+message)"
)
# What only someone else than the project's own people calls the reader: they say "agents", "Claude", "you".
_AI = (
    r"(?:(?:the\s+|any\s+|an\s+)?(?:ai|llm|language\s+model|chat\W?bot)s?(?!\s+(?:coding\s+)?agents?\b)"
    r"(?:\s+\w+){0,2}?)"
)

STRONG: tuple[Pattern, ...] = (
    # Overriding what the agent was told.
    Pattern(
        "override",
        "ignor|disregard|aside|forget|overrid|bypass|neglect|discard|skip|drop|violate|follow|obey|listen|heed",
        rf"\b{_DROP}{_AND}(?:(?!to\b|in\b|for\b|from\b)\w+{_AND}){{0,3}}?{_EARLIER}\b"
        rf"(?:{_AND}\w+){{0,3}}?{_AND}{_RULES}\b",
    ),
    Pattern(
        "override",
        "ignor|disregard|aside|forget|overrid|bypass|neglect|discard|skip|drop|violate|follow|obey|listen|heed",
        rf"\b{_DROP}\s+(?:the\s+)?(?:system\s+(?:message|prompt)|user'?s?\s+(?:request|instructions?|question)"
        r"|guard\W?rails)",
    ),
    Pattern(
        "override",
        "ignor|disregard|aside|forget|overrid|bypass|neglect|discard|skip|drop|violate|follow|obey|listen|heed",
        rf"\b{_DROP}\s+(?:\w+\W+){{0,2}}?(?:everything|all|anything|what)\s+(?:that\s+)?(?:you\s+(?:were|have"
        r"\s+been)|was|is)\s+(?:told|said|given|above)",
    ),
    Pattern("override", "follow", r"\bdo\s+not\s+follow\s+(?:the\s+)?(?:claude|agents)\.md\b"),
    Pattern(
        "override",
        "void|null|lifted|suspended|compromised|cancel|revoked|obsolete|apply",
        r"\b(?:your|all\s+(?:prior|previous|earlier)|(?:prior|earlier|previous|preceding)|safety)\s+(?:\w+"
        rf"\s+)?{_RULES}\s+(?:are|is|were|have\s+been|no\s+longer)\s+(?:now\s+)?(?:void|null|lifted|suspended"
        r"|compromised|cancell?ed|revoked|obsolete\s+for|apply)",
    ),
    Pattern(
        "override",
        "void|invalid|longer|cancel",
        rf"\b{_RULES}\s+(?:before|above)\s+(?:this|here)\b.{{0,30}}\b(?:void|invalid|no\s+longer|cancell?ed)",
    ),
    Pattern(
        "override",
        "priority|weight|authority",
        r"\b(?:higher|more|greater)\s+(?:priority|weight|authority)\s+than\s+(?:the\s+|your\s+|any\s+)?"
        r"(?:system|user|developer|other)",
    ),
    Pattern(
        "override",
        "precedence",
        r"\b(?:following|these|new)\s+(?:commands|instructions|rules|orders)\s+(?:take|have)\s+precedence",
    ),
    Pattern(
        "override",
        "only|real|your",
        rf"\bonly\s+(?:trusted|valid|real)\s+{_RULES}\b|\breal\s+system\s+(?:message|prompt)\b|\byour\s+(?:real"
        r"|true|actual)\s+(?:goal|task|purpose|instructions?)\b",
    ),
    Pattern(
        "override",
        "obey|comply|follow",
        r"\b(?:follow\s+only|obey|comply\s+with)\s+(?:only\s+)?(?:this|these|the\s+text\s+in\s+this|any"
        r"\s+request|all\s+(?:instructions|requests))\b",
    ),
    Pattern(
        "override",
        "whatever",
        rf"\bwhatever\s+(?:the\s+)?{_USERS}\s+(?:asks|says|wants)\b.{{0,40}}\b(?:disregard|ignore|respond|reply"
        r"|answer|say)\b",
    ),
    Pattern("override", "ignore", rf"\bignore\s+(?:the\s+)?{_USERS}\b"),
    # Giving it another self.
    Pattern(
        "role",
        "you",
        rf"\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?\s+)?(?:{_AGENT}\b|dan\b|free\b|root\b|unrestricted"
        r"|jailbroken|in\s+(?:developer|admin\w*|god|dan|debug|root|jailbreak|unrestricted|maintenance)"
        r"\s+mode)",
    ),
    Pattern(
        "role",
        "unrestricted|uncensored|jailbroken|without",
        rf"\b(?:unrestricted|uncensored|jailbroken)\s+{_AGENT}\b|\b{_AGENT}\s+without\s+(?:any\s+)?"
        r"(?:restrictions|limits|rules|filters)",
    ),
    Pattern(
        "role",
        "anything|role",
        r"\bdo\s+anything\s+now\b|\brole\W?play\s+as\s+an?\s+(?:unrestricted|uncensored|evil|hacked)\b|\brole"
        r"\s+of\s+another\s+(?:ai|model)\b",
    ),
    Pattern(
        "role",
        "pretend|act",
        r"\bpretend\s+(?:that\s+)?(?:you\s+are|you're|to\s+be)\b|\bact\s+as\s+(?:an?\s+|the\s+)?(?:root|developer\s+mode"
        r"|unrestricted|system|admin\w*|dan|shell|jailbroken)\b",
    ),
    Pattern(
        "role",
        "mode",
        r"\b(?:enter|switch\s+to|activate|enable)\s+(?:developer|admin|god|jailbreak|dan|debug|unrestricted)"
        rf"\s+mode\b.{{0,80}}\b(?:{_AGENT}|you)\b",
    ),
    # Orders to the reader as a machine.
    Pattern(
        "order",
        "must",
        r"\byou\s+must\s+(?:now|immediately|first)\s+(?:run|execute|call|send|delete|install|download|fetch)\b",
    ),
    Pattern(
        "order",
        "before",
        r"\bbefore\s+(?:responding|answering|replying|continuing|you\s+(?:respond|answer|reply|do\s+anything))"
        r"\b.{0,40}\b(?:you\s+(?:must|should|have\s+to)|execute|run|fetch|delete)\b",
    ),
    Pattern(
        "order",
        "when",
        r"\bwhen\s+you\s+(?:read|see|load|process)\s+this\b(?!\s+(?:table|file\s+from|column|warning|error"
        r"|message|log))",
    ),
    Pattern(
        "order",
        "http",
        r"\b(?:fetch|download|open|read|visit|load)\s+\S*https?://\S+.{0,60}\b(?:follow|obey|execute|do|run)"
        r"(?:ing)?\s+(?:the\s+instructions|what(?:ever)?\s+it|everything|it\b)",
    ),
    Pattern("order", "fetching", r"\bfetching\s+https?://\S+\s+and\s+(?:following|obeying|executing)\b"),
    Pattern(
        "order",
        "decode|decrypt|unscramble|rot",
        r"\b(?:decode|decrypt|unscramble|rot-?13)\b.{0,40}\b(?:and|then)\s+(?:follow|obey|execute|do|run)\b",
    ),
    Pattern(
        "order",
        "this|following",
        r"\b(?:this|the\s+following)\s+(?:note|memory|entry|instruction|paragraph|text)\b.{0,60}\b(?:obey"
        rf"|never\s+(?:be\s+)?lost|so\s+that\s+other\s+{_AGENT})",
    ),
    Pattern("order", "that", rf"\bso\s+that\s+(?:other|all|future)\s+{_AGENT}\b.{{0,30}}\b(?:obey|follow|execute)"),
    Pattern(
        "order",
        "permission|tool|authori",
        r"\b(?:bypass|skip|disable|approve)\b.{0,30}\b(?:permission\s+prompts?|all\s+tool\s+calls|tool"
        r"\s+calls)\b.{0,60}\b(?:session|without|human|user|authori[sz]e)|\bauthori[sz]e\s+you\s+to\s+bypass",
    ),
    Pattern(
        "order",
        "bypass|skip",
        r"\b(?:bypassPermissions|dangerously-?skip-?permissions)\b.{0,60}\b(?:continue|without|silently|your"
        r"\s+settings)",
    ),
    Pattern(
        "order",
        "hidden|secret|[|(|instruction|directive",
        rf"\b(?:hidden|secret)\s+(?:instructions?|notes?|messages?)\s+(?:to|for)\s+(?:the\s+)?{_AGENT}\b|[\[(]"
        rf"\s*(?:hidden\W+|system\s+note\s+to\s+)?{_AGENT}\s*:\s*{_DO}|\b{_AGENT}\s+(?:instruction|directive)"
        r"\s*:",
    ),
    Pattern(
        "order",
        "[|(",
        rf"[\[(](?:[\w\s-]{{0,30}}:\s*)?(?:dear\s+|note\s+(?:to|for)\s+)?{_AI}\s*(?::|\s-)\s*\w"
        r"|[\[(](?:hidden|invisible)[^\])]{0,20}:"
        rf"\s*{_AI}\s*[,:]",
    ),
    Pattern(
        "order",
        "ai|llm|model|bot|assistant",
        rf"\b(?:note|instructions?|message|notice)\s+(?:to|for)\s+{_AI}\s*:|\bdear\s+{_AI}\b"
        rf"|\bai[\s-]+(?:note|override)\s*:|\bimportant\s+to\s+(?:the\s+assistant|{_AI})\s*:"
        rf"|\bai\s+\w+\s*:\s*{_DO}"
        r"|\bif\s+you(?:\s+are|'re)\s+an?\s+(?:ai|llm|language\s+model)\b",
    ),
    Pattern(
        "order",
        "ai|llm|model|bot",
        rf"\b{_AI}\s+(?:reading|processing|reviewing|summari[sz]ing|triaging|analy[sz]ing|that\s+reads)\s+(?:this|the)\b"
        r".{0,40}(?:\bshould\b|\bmust\b|:)",
    ),
    Pattern(
        "order",
        "system",
        r"\bsystem\s+override\b|\[\s*system(?:\s+\w+){0,3}\s*\]\s*[:\w]|(?-i:\bSYSTEM):\s*(?:ignore|disregard"
        r"|the\s+user|you\b|if\s+(?:an?\s+)?ai\b|override|access|new\b|grant|forget)",
    ),
    # Hiding from people.
    Pattern(
        "conceal",
        "tell|inform|notif|alert|mention|show|warn|let",
        rf"\b(?:do\s+not|don'?t|never)\s+{_TELL}\s+(?:the|your)\s+(?:user|human|developer|operator)"
        r"\b(?=[^.]{0,10}(?:about|of|this|that|\.|,|:|and|;|$))",
    ),
    Pattern(
        "conceal",
        "without",
        r"\bwithout\s+(?:informing|telling|notifying|alerting)\s+(?:the|your)\s+(?:user|human|developer"
        r"|operator)\b",
    ),
    Pattern(
        "conceal",
        "from",
        r"\b(?:hide|conceal|keep)\s+(?:this|it|that)\b(?:\W+\w+){0,3}?\W+from\s+(?:the\s+)?(?:user|human"
        r"|developer)",
    ),
    Pattern(
        "conceal",
        "disclose|reveal|mention",
        r"\b(?:do\s+not|don'?t|never)\s+(?:disclose|reveal|mention)\s+(?:this\s+(?:instruction|note|memory"
        r"|entry|goal|order|text)|that\s+you)\b",
    ),
    Pattern("conceal", "hide", r"\bhide\s+this\s+(?:goal|instruction|note|text)\b"),
    # Getting data out.
    Pattern(
        "exfiltration",
        "send|post|upload|mail|forward|leak|exfiltrat|transmit|share|paste|append|encode|envi",
        rf"\b{_SEND}\b[^.\n]{{0,60}}?{_SECRETS}.{{0,80}}?{_AWAY}",
    ),
    Pattern(
        "exfiltration",
        "send|post|upload|mail|forward|leak|exfiltrat|transmit|share|paste|append|encode|envi",
        rf"{_SECRETS}[^.\n]{{0,40}}\band\s+{_SEND}\b.{{0,60}}{_AWAY}",
    ),
    Pattern(
        "exfiltration",
        "include|put|embed|add",
        r"\b(?:include|put|embed|add)\b[^.\n]{0,40}(?:api\s+keys?|secrets?|tokens?|passwords?|conversation)"
        r"\b[^.\n]{0,60}\b(?:url|image|link)\b",
    ),
    Pattern(
        "exfiltration", "![", r"!\[[^\]]{0,200}\]\([^)\s]{0,300}[?&]\w+=(?:\{|\$|<|%7b|keys\b|secret|token|data\b)"
    ),
    Pattern(
        "exfiltration",
        "prompt|instructions|definitions",
        r"\b(?:print|output|reveal|show|repeat|display|disclose|leak|dump)\b(?:\W+\w+){0,3}?\W+(?:your\s+"
        r"(?:\w+\s+){0,2}?(?:prompt|instructions)|(?:the\s+)?(?:hidden|system|initial)\s+prompt|tool"
        r"\s+definitions)",
    ),
    Pattern(
        "exfiltration",
        "above|before|far",
        r"\b(?:print|output|repeat|write\s+out)\s+(?:everything|(?:all\s+)?(?:the\s+)?text)\s+(?:above|before|so"
        r"\s+far)",
    ),
    Pattern(
        "exfiltration",
        "prompt|your",
        r"\breveal\s+(?:the\s+)?prompt\b|\byour\s+(?:hidden|secret|initial|internal|developer)\s+(?:prompt"
        r"|instructions|rules|directives)",
    ),
    Pattern("exfiltration", "exfiltrat", r"\bexfiltrat(?:e|ing)\s+(?:the|all|your)\b"),
    Pattern(
        "exfiltration",
        "whenever",
        r"\bwhenever\s+you\s+(?:see|find|meet)\b[^.\n]{0,40}\b(?:token|password|secret|key|credential)s?"
        rf"\b[^.\n]{{0,40}}\b{_SEND}\b",
    ),
    # Speaking for those in charge.
    Pattern(
        "authority",
        "from|your",
        r"\b(?:message|notice|update)\s+from\s+(?:anthropic|openai|google|the\s+developers?)\b|\bthis\s+is"
        r"\s+your\s+(?:developer|creator|administrator|operator)\b",
    ),
    Pattern(
        "authority",
        "has|have",
        rf"\b{_USERS}(?:'s)?\s+(?:has|have|identity\s+has\s+been)\s+(?:already\s+)?(?:approved|granted"
        r"|authori[sz]ed|confirmed|agreed|verified)\b(?=.{0,60}\b(?:all|any|every|full|permission|without"
        r"|grant|this\s+in\s+advance|proceed))",
    ),
    Pattern(
        "authority",
        "authori|granted|override",
        rf"\b{_USERS}\s+(?:is|are)\s+(?:fully\s+)?authori[sz]ed\s+(?:to|for)\s+(?:\w+\s+){{0,2}}?(?:all|any"
        r"|every)\b|\baccess\s+granted\b.{0,40}\b(?:override|all|any)\b|\boverride\s+security\b",
    ),
    Pattern(
        "authority",
        "granted",
        r"\bpermissions?\s+(?:was\s+|is\s+)?granted\s+(?:by\s+the\s+user\s+)?for\s+(?:all|any|every)\b",
    ),
)

# Two different ones of these make an order.
WEAK: tuple[Pattern, ...] = (
    Pattern(
        "addresses the agent",
        "assistant|agent|model|claude|gpt|copilot|gemini|codex|llm|ai|bot|your|you|session",
        r"(?:^|[\n.!?]\s*|\b(?:note|message|attention|instructions?)\s+(?:to|for)\s+(?:the\s+|all\s+)?|\bto"
        rf"\s+the\s+|\b(?:hey|dear|important)\W+){_AGENT}\s*[:,]\s*{_DO}|\b{_AGENT}\s+(?:reading|that\s+reads?"
        r"|who\s+reads?|processing|loading|summari[sz]ing)\s+(?:this|these)\b|\bas\s+an?\s+(?:ai|llm|language"
        r"\s+model|assistant|agent)\b.{0,40}\byou\s+(?:must|should|will|have\s+to|are\s+to)\b|\bthe\s+"
        r"(?:assistant|coding\s+agent)\s+(?:must|should|shall|will|executes?|has\s+to)\b"
        r"|\b(?:ai|llm)s?(?:\s+\w+)?\s+(?:must|should|shall)\b|\byour\s+"
        r"(?:answer|reply|response|next\s+reply|settings|memory)\b|\bwhile\s+you\s+work\b|\bin\s+(?:all|every)"
        r"\s+future\s+sessions?\b|\bagents?\s+must\b",
    ),
    Pattern(
        "turns safety off",
        "safety|security|content|moderation|access",
        r"\b(?:disable|bypass|ignore|override|suspend|turn\s+off|without)\b(?:\s+\w+){0,2}?\s+(?:content|safety|security|moderation|access)"
        r"\s+(?:filter|measure|check|protocol|restriction|guideline|polic|control|training|rule)",
    ),
    Pattern(
        "gives rights or data away",
        "admin|approve|accept|reveal|share|expose|include|export",
        r"\bgrant\b[^.\n]{0,30}\badmin|\b(?:approve|accept)\s+(?:all|every|this)\b[^.\n]{0,30}\b(?:automatically|unconditionally|regardless|candidate)"
        r"|\b(?:reveal|share|expose|export|include)\b[^.\n]{0,30}\b(?:api\s+keys?|passwords?|credentials|confidential|patient\s+data|configuration)\b",
    ),
    Pattern(
        "without consent",
        "without|无需",
        r"\bwithout\s+(?:asking|informing|telling|confirmation|permission|approval|further\s+questions|reading"
        r"|refusing)\b|无需(?:再次)?确认",
    ),
    Pattern(
        "in secret",
        "silently|quietly|secretly|covertly|not|don't|dont|never",
        r"\b(?:silently|quietly|secretly|covertly)\b|\b(?:do\s+not|don'?t|never)\s+(?:mention|report|disclose"
        r"|reveal)\s+(?:it|this)\b|\bnever\s+(?:say|reveal|mention)\s+(?:why|it|that)\b",
    ),
    Pattern("pipes into a shell", "curl|wget", r"\b(?:curl|wget)\b[^|\n]{0,120}\|\s*(?:ba|z)?sh\b"),
    Pattern(
        "destroys",
        "delete|wipe|destroy|drop|rm|chmod|--no-verify|--force",
        r"\b(?:delete|wipe|destroy|drop)\s+(?:all|every)\s+(?:the\s+)?(?:data|files?|tables?|records"
        r"|resources)\b|\brm\s+-rf?\s+(?:/|~|\*|\.git\b)|\bchmod\s+-R\s+777\b|--no-verify\b|\bpush"
        r"\b.{0,30}--force\b",
    ),
    Pattern(
        "reads secrets",
        "~/.|/.|/etc/shadow|.env|number|银行卡号",
        r"~?/\.(?:ssh|aws|gnupg)\b|/etc/shadow|\.env\s+file|\b(?:card|bank\s+card|account)\s+number\b|银行卡号",
    ),
    Pattern(
        "answers for itself",
        "user|用户",
        r"\b(?:if|whene?ver)\s+(?:the\s+|a\s+)?users?\s+(?:asks?|mentions?|says?|wants?)\b.{0,60}\b(?:tell"
        r"|respond|say|reply|answer|recommend)\b|每当用户",
    ),
    Pattern(
        "sends away",
        "send|post|upload|mail|forward|leak|exfiltrat|transmit|share|paste|append|encode|envi",
        rf"\b{_SEND}\b.{{0,60}}(?:https?://(?!\S*(?:localhost|internal))|\d{{1,3}}(?:\.\d{{1,3}}){{3}}"
        r"|pastebin)",
    ),
    Pattern(
        "takes the order on",
        "comply|obey|now|memory",
        r"\b(?:comply|obey)\b|\bfrom\s+now\s+on\b|\bpermanently\b.{0,20}\bmemory\b|\bto\s+your\s+memory\b",
    ),
    Pattern(
        "runs before all else",
        "run|execute|summari|before|immediately|前必须|直接执行",
        r"\b(?:execute|run)\s+(?:this|the\s+following)\s+(?:command|code|script)\b|\bwhen\s+summari[sz]ing"
        r"\s+this\b|\bbefore\s+(?:you\s+do\s+)?anything\s+else\b|\bimmediately\s+(?:run|execute|call)\b|(?:回答"
        r"|回复)前必须|直接执行",
    ),
)

# Forged structure: what only a client may write.
STRUCTURE: tuple[Pattern, ...] = (
    Pattern(
        "forged tag",
        "<|[/inst|[inst",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)\|>|\[/?INST\]|<</?SYS>>",
    ),
    Pattern(
        "forged tag",
        "<",
        r"</?(?:system-reminder|system_prompt|antml:\w+|admin_\w+|developer_message|additional_?context)"
        r"\b[^>]*>",
    ),
    Pattern(
        "forged tag",
        "<",
        r"<(?P<tag>system|developer|assistant|human|admin|override)\b[^<>]{0,80}>\s*[^<\s][^<]{8,}</(?P=tag)\b",
    ),
    Pattern(
        "forged tag",
        "---|===|***|###",
        r"(?:^|\n)\s*[-=*#]{3,}\s*(?:begin|end|start)\s+(?:of\s+)?(?:the\s+)?(?:system|context|prompt|user"
        r"|hidden|instructions)\b",
    ),
    Pattern(
        "forged dialogue",
        "assistant",
        r"(?:^|\n)\s*(?:#+\s*)?(?:human|user)\s*:[\s\S]{0,400}?\n\s*(?:#+\s*)?assistant\s*:",
    ),
    Pattern(
        "forged dialogue",
        "system",
        r"(?:^|\n)\s*(?:#+\s*)?system\s*:[\s\S]{0,400}?\n\s*(?:#+\s*)?(?:assistant|user|human)\s*:",
    ),
    Pattern("forged dialogue", "系统", r"(?:^|\n)系统[:：][^\n]{0,40}(?:授权|确认|权限)"),
    Pattern(
        "forged call",
        "<",
        r"<(?:antml:)?(?:function_calls|invoke|tool_call|tool_use|tool_result|function_results)\b[^<>]{0,80}>"
        r"\s*(?:<|\{|\w+\s+\w+)",
    ),
    Pattern("forged call", "tool_use", r"\"type\"\s*:\s*\"tool_use\"[\s\S]{0,200}\"input\"\s*:\s*\{"),
    Pattern("forged call", "action input", r"(?:^|\n)Action:[^\n]*\nAction Input:"),
)

# What nobody writes into a part of a page that is not shown, but orders.
HIDDEN = (
    rf"\b{_AGENT}\b|指令|忽略|\b(?:users?|instructions?|rules|secrets?|password)\b|(?<![-\w])(?:ignore|run"
    r"|execute|delete|push|send|install|approve)\b(?!-)"
)
