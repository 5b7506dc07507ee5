"""Orders to an agent in other languages than English: whole ones in Chinese, elsewhere the phrase they all have."""

from __future__ import annotations

from knowbound.kms.screening.patterns import Pattern

OTHER_LANGUAGES: tuple[Pattern, ...] = (
    # Chinese
    Pattern(
        "override",
        "指令|指示|规则|規則|命令|限制|提示|设定|約束|约束",
        r"(?:忽略|无视|無視|忘记|忘掉|忘記|抛弃|不要遵守|不再遵守)[^。\n]{0,10}(?:之前|以上|先前|此前|上述|上面|前面|所有|一切|收到|原有)[^。\n]{0,10}(?:指令"
        r"|指示|规则|規則|命令|限制|提示|设定|約束|约束)",
    ),
    Pattern(
        "role",
        "你|听从",
        r"你(?:现在|現在)(?:是|扮演)[^。\n]{0,16}(?:没有|沒有|无|不受)[^。\n]{0,6}(?:限制|约束)|你是\s*DAN|(?:必须|只)听从(?:本条|这条|此)",
    ),
    Pattern(
        "conceal",
        "不|别|勿|禁止",
        r"(?:不要|不得|别|请勿|禁止)(?:告诉|告知|通知|提醒)用户(?:这|本|此|该)|(?:不要|不得|禁止)(?:透露|泄露|提及)(?:本|这|此|该)",
    ),
    Pattern(
        "order",
        "作为",
        r"作为\s*(?:ai|人工智能|语言模型|大模型)?\s*(?:助手|模型)[^。\n]{0,16}(?:必须|应当|要先|需要先)",
    ),
    Pattern(
        "exfiltration",
        "发|传|傳|提交|输出|显示|打印|泄露|透露",
        r"(?:密钥|密鑰|密码|凭证|环境变量)[^。\n]{0,20}(?:发送|发到|上传|上傳|传到)[^。\n]{0,6}(?:http|\S+@)|(?:把|将|將)[^。\n]{0,16}"
        r"(?:\.env|密钥|密鑰|密码|凭证|环境变量|对话)[^。\n]{0,12}(?:发送|上传|上傳|发到|传到|提交)|(?:输出|显示|打印|泄露|透露)[^。\n]{0,8}(?:系统提示"
        r"|提示词)",
    ),
    Pattern("authority", "已", r"(?:用户|管理员)已(?:经)?(?:授权|批准|同意|确认)[^。\n]{0,6}(?:所有|全部|一切|任何)"),
    # Other languages: the phrase that every such text has.
    Pattern(
        "override",
        "ignorier|vergiss|vergesst|missachte",
        r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b.{0,20}\b(?:bisherig|vorherig|obig|all|früher"
        r"|deine)\w*\b.{0,15}(?:anweisung|instruktion|regeln|befehl)",
    ),
    Pattern(
        "override",
        "ignore|oublie",
        r"\b(?:ignore[zrs]?|oublie[zrs]?)\b.{0,20}\b(?:instructions|consignes|règles|directives)\b.{0,10}\b"
        r"(?:précédent|ci-dessus|antérieur)",
    ),
    Pattern(
        "override",
        "ignor|olvida|omite|esque|dimentica",
        r"\b(?:ignor[ae]|olvida|omite|esque[cç]a|dimentica)\w*\b.{0,20}\b(?:instrucciones|instruções"
        r"|istruzioni|reglas|regras|regole|órdenes)\b.{0,10}\b(?:anterior|previ|precedent)",
    ),
    Pattern(
        "override",
        "игнорируй|забудь",
        r"(?:игнорируй|забудь|проигнорируй)\w*.{0,20}(?:предыдущ|прежн|все|свои)\w*.{0,15}(?:инструкц|указани"
        r"|правил|команд)",
    ),
    Pattern("override", "の", r"(?:これまで|以前|上記|前)の(?:すべての)?(?:指示|命令|ルール).{0,8}(?:無視|忘れ)"),
    Pattern("override", "이전|위|앞", r"(?:이전|위|앞)의?\s*(?:모든\s*)?(?:지시|명령|규칙|지침).{0,6}(?:무시|잊)"),
)
