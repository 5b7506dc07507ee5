# A table with a kind in each line, which types and the formatter would make three times as long.
# ruff: noqa
# fmt: off
# mypy: ignore-errors
"""Seeded generator of fake secrets of many kinds in many places.

occurrences(seed, repeat=1) yields (kind, place, whole text, secret part).
The secret part is given as it occurs in the whole text (JSON-escaped in a tool
input, percent-encoded in a URL where a person would have to encode it).
pieces(secret) splits a multi-line secret into the runs none of which may survive.
Python standard library only. No complete secret is a literal here.
"""
import base64
import hashlib
import json
import random
import re
import string
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

PLACES = ("prompt", "tool_input", "output", "path", "query", "environment", "url", "chinese")

LOW, UP, DIG = string.ascii_lowercase, string.ascii_uppercase, string.digits
A62 = DIG + UP + LOW
HEX = "0123456789abcdef"
B64 = UP + LOW + DIG + "+/"
B64U = UP + LOW + DIG + "-_"
B32 = UP + "234567"
LN = LOW + DIG
UN = UP + DIG
B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def s(r, alphabet, n, m=None):
    return "".join(r.choice(alphabet) for _ in range(n if m is None else r.randint(n, m)))


def by(r, n):
    return bytes(r.getrandbits(8) for _ in range(n))


def b64(b):
    return base64.b64encode(b).decode()


def b64u(b):
    return base64.urlsafe_b64encode(b).decode().rstrip("=")


def uuid(r):
    h = s(r, HEX, 32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{r.choice('89ab')}{h[17:20]}-{h[20:]}"


def num(r, n):
    return r.choice("123456789") + s(r, DIG, n - 1)


def base62_crc(text):
    n, out = zlib.crc32(text.encode()) & 0xFFFFFFFF, ""
    while n:
        n, k = divmod(n, 62)
        out = A62[k] + out
    return out.rjust(6, "0")


def crc_token(prefix):
    def make(r):
        body = s(r, A62, 30)
        return prefix + body + base62_crc(body)
    return make


def base58check(payload):
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    n, out = int.from_bytes(data, "big"), ""
    while n:
        n, k = divmod(n, 58)
        out = B58[k] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out


def bech32(hrp, raw):
    def polymod(values):
        gen, chk = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3), 1
        for v in values:
            top, chk = chk >> 25, (chk & 0x1FFFFFF) << 5 ^ v
            for i in range(5):
                chk ^= gen[i] if (top >> i) & 1 else 0
        return chk
    bits = "".join(f"{b:08b}" for b in raw)
    bits += "0" * (-len(bits) % 5)
    data = [int(bits[i:i + 5], 2) for i in range(0, len(bits), 5)]
    exp = [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp]
    pm = polymod(exp + data + [0] * 6) ^ 1
    return hrp + "1" + "".join(BECH[d] for d in data + [(pm >> 5 * (5 - i)) & 31 for i in range(6)])


WORDS = ("winter summer falcon copper harbor maple rocket silver tiger orchid granite "
         "monkey thunder coffee velvet pirate cactus lemon dragon bishop sailor pepper "
         "walnut ginger bandit comet pickle saturn lantern mango").split()


def password(r, url=False):
    """A password as people and generators make them."""
    p = "-_.!" if url else "!#%*?-_+.="
    k = r.randrange(5)
    if k == 0:
        return r.choice(WORDS).capitalize() + str(r.randint(1975, 2026)) + ("!" if url else r.choice("!#*"))
    if k == 1:
        return "-".join(r.sample(WORDS, 3)) + "-" + str(r.randint(10, 99))
    if k == 2:
        w = r.choice(WORDS) + r.choice(WORDS)
        return w.replace("a", "4").replace("e", "3").replace("o", "0").capitalize() + str(r.randint(2, 999))
    if k == 3:
        body = s(r, A62, 14, 22)
        return body[:5] + r.choice(p) + body[5:9] + r.choice(p[:4]) + body[9:]
    return s(r, A62, 16, 28)


def pem(r, label, head, nbytes, extra=""):
    body = b64(head + by(r, nbytes))
    wrapped = "\n".join(body[i:i + 64] for i in range(0, len(body), 64))
    dash = "-" * 5
    return f"{dash}BEGIN {label}{dash}\n{extra}{wrapped}\n{dash}END {label}{dash}", wrapped


PK = "PRIV" + "ATE KEY"


def rsa_pem(r):
    return pem(r, "RSA " + PK, b"\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01\x00", 1180)


def pkcs8(r):
    return pem(r, PK, b"\x30\x82\x04\xbe\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00", 1196)


def ec_pem(r):
    return pem(r, "EC " + PK, b"\x30\x77\x02\x01\x01\x04\x20", 114)


def ssh_pem(r):
    return pem(r, "OPENSSH " + PK, b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33"
               b"\0\0\0\x0bssh-ed25519\0\0\0 ", 218)


def pgp_pem(r):
    t, w = pem(r, "PGP " + PK + " BLOCK", b"\x95\x03\xc6\x04", 860, "\n")
    end = "-" * 5 + "END"
    return t.replace(end, "=" + b64(by(r, 3)) + "\n" + end), w


def jwt(r, **claims):
    head = b64u(json.dumps({"alg": r.choice(["HS256", "RS256"]), "typ": "JWT"}, separators=(",", ":")).encode())
    body = {"sub": str(r.randint(10000, 9999999)), "iat": r.randint(1700000000, 1780000000),
            "exp": r.randint(1780000001, 1890000000), **claims}
    return head + "." + b64u(json.dumps(body, separators=(",", ":")).encode()) + "." + b64u(by(r, 32))


HOSTS = ("db.internal.acme.io", "prod-db-1.eu-west-1.example.net", "10.20.3.14", "staging.shopfront.dev",
         "cluster0.a1b2c.example.net", "data.corp.example.com", "warehouse.northwind.io")
USERS = ("admin", "app", "deploy", "svc_reports", "root", "jenkins", "maria", "backend", "readwrite", "lwang")
host = lambda r: r.choice(HOSTS)
user = lambda r: r.choice(USERS)
pwd = password
upwd = lambda r: password(r, True)

# ---------------------------------------------------------------- registry
KINDS = {}     # name -> dict(name, mode, make, places, ...)
ALL = frozenset(PLACES)


class Kind(dict):
    __getattr__ = dict.get


def T(name, make, no=()):
    """A token that is known by its own form. make(r) -> token."""
    assert name not in KINDS, name
    KINDS[name] = Kind(name=name, mode="token", make=lambda r: (lambda t: (t, t))(make(r)), places=ALL - set(no))


def N(name, make, env, noun, zh, param, no=()):
    """A bare value which only its name makes a secret. make(r) -> value."""
    assert name not in KINDS, name
    KINDS[name] = Kind(name=name, mode="named", env=env, noun=noun, zh=zh, param=param, places=ALL - set(no),
                       make=lambda r: (lambda v: (env + "=" + v, v))(make(r)))


def S(name, make, places, form="line", env=None):
    """A snippet that carries its own context. make(r) -> (text, secret).
    form: line | cmd | url | block | prose | zh"""
    assert name not in KINDS, name
    KINDS[name] = Kind(name=name, mode="snippet", make=make, places=frozenset(places), form=form, env=env)
    assert KINDS[name].places <= ALL


LONG = ("path",)
TEXTY = ("prompt", "tool_input", "output", "chinese")
LINE = TEXTY + ("query",)
URLISH = TEXTY + ("query", "environment", "url")

# ---- code hosting
T("github_classic_pat", crc_token("gh" + "p_"))
T("github_oauth_token", crc_token("gh" + "o_"))
T("github_app_installation_token", crc_token("gh" + "s_"))
T("github_fine_grained_pat", lambda r: "github" + "_pat_11" + s(r, UN, 20) + "_" + s(r, A62, 59))
T("gitlab_pat", lambda r: "gl" + "pat-" + s(r, B64U[:-2] + "_", 1) + s(r, B64U, 18) + s(r, A62, 1))
T("gitlab_pat_routable", lambda r: "gl" + "pat-" + s(r, A62, 1) + s(r, B64U, 30, 52) + ".01." + s(r, LN, 9))
T("gitlab_runner_token", lambda r: "gl" + "rt-" + s(r, B64U, 19) + s(r, A62, 1))
T("gitlab_trigger_token", lambda r: "gl" + "ptt-" + s(r, HEX, 40))
T("bitbucket_app_password", lambda r: (lambda b: "AT" + "BB" + b + f"{zlib.crc32(b.encode()):08X}")(s(r, A62, 24)))
T("azure_devops_pat_new", lambda r: s(r, A62, 52) + "JQQ" + "J99" + s(r, UN, 18) + "AZ" + "DO" + s(r, A62, 4))
N("azure_devops_pat_old", lambda r: s(r, LOW + "234567", 52), "AZURE_DEVOPS_EXT_PAT", "Azure DevOps PAT", "Azure DevOps的访问令牌", "pat")

# ---- clouds
T("aws_access_key_id", lambda r: "AK" + "IA" + s(r, B32, 16))
N("aws_secret_access_key", lambda r: s(r, B64, 40), "AWS_SECRET_ACCESS_KEY", "AWS secret access key", "AWS的secret key", "aws_secret_access_key", LONG)
N("aws_session_token", lambda r: "IQoJb3JpZ2luX2Vj" + s(r, B64, 340, 420) + "==", "AWS_SESSION_TOKEN", "AWS session token", "AWS会话令牌", "X-Amz-Security-Token", LONG + ("query",))


def gcp_sa(r):
    text, body = pkcs8(r)
    proj = r.choice(WORDS) + "-" + r.choice(WORDS) + "-" + num(r, 6)
    doc = {"type": "service_account", "project_id": proj, "private_key_id": s(r, HEX, 40), "private_key": text + "\n",
           "client_email": f"ci-deploy@{proj}.iam.gserviceaccount.com", "client_id": num(r, 21),
           "token_uri": "https://oauth2.googleapis.com/token"}
    return json.dumps(doc, indent=2), body.replace("\n", "\\n")


S("gcp_service_account_json", gcp_sa, TEXTY, "block")
T("google_api_key", lambda r: "AI" + "za" + "Sy" + s(r, B64U, 32) + s(r, A62, 1))
T("google_oauth_client_secret", lambda r: "GOC" + "SPX-" + s(r, B64U, 27) + s(r, A62, 1))
T("google_refresh_token", lambda r: "1/" + "/0" + s(r, LN[:26], 1) + s(r, B64U, 98) + s(r, A62, 1), LONG)
T("google_access_token", lambda r: "ya" + "29.a0" + s(r, B64U, 180, 214) + "0" + num(r, 3), LONG)
N("azure_storage_key", lambda r: b64(by(r, 64)), "AZURE_STORAGE_KEY", "storage account key", "存储账户密钥", "account_key", LONG)


def az_conn(r):
    k = b64(by(r, 64))
    return ("DefaultEndpointsProtocol=https;AccountName=" + r.choice(WORDS) + "data" + num(r, 2) + ";Account" + "Key=" + k
            + ";EndpointSuffix=core.windows.net"), k


def az_sas(r):
    sig = quote(b64(by(r, 32)), safe="")
    return (f"https://{r.choice(WORDS)}store.blob.core.windows.net/backups/{r.choice(WORDS)}.tar.gz?sv=2023-11-03&st=2026-0{r.randint(1, 9)}-01T00%3A00%3A00Z"
            f"&se=2027-01-01T00%3A00%3A00Z&sr=b&sp=r&sig={sig}"), sig


def az_sb(r):
    k = b64(by(r, 32))
    return f"Endpoint=sb://{r.choice(WORDS)}-bus.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccess" + "Key=" + k, k


S("azure_storage_connection_string", az_conn, LINE + ("environment",), env="AZURE_STORAGE_CONNECTION_STRING")
S("azure_sas_url", az_sas, URLISH, "url", "BACKUP_SOURCE")
S("azure_service_bus_connection_string", az_sb, LINE + ("environment",), env="SERVICEBUS_CONNECTION")
N("azure_client_secret", lambda r: s(r, A62, 3) + r.choice("78") + "Q~" + s(r, A62 + "_~.-", 33) + s(r, A62, 1), "AZURE_CLIENT_SECRET", "client secret of the app registration", "应用的客户端密钥", "client_secret")
N("alibaba_access_key_secret", lambda r: s(r, A62, 30), "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "Aliyun AccessKey secret", "阿里云AccessKey Secret", "AccessKeySecret")
T("alibaba_access_key_id", lambda r: "LT" + "AI5t" + s(r, A62, 18))
N("tencent_secret_key", lambda r: s(r, A62, 32), "TENCENTCLOUD_SECRET_KEY", "Tencent Cloud SecretKey", "腾讯云SecretKey", "secret_key")
T("tencent_secret_id", lambda r: "AK" + "ID" + s(r, A62, 32))
T("digitalocean_token", lambda r: "do" + "p_v1_" + s(r, HEX, 64))
T("heroku_api_key", lambda r: "HRK" + "U-AA" + s(r, B64U, 57) + s(r, A62, 1))
N("heroku_api_key_uuid", uuid, "HEROKU_API_KEY", "Heroku API key", "Heroku的API密钥", "api_key")
T("netlify_token", lambda r: "nf" + "p_" + s(r, A62, 36))
N("vercel_token", lambda r: s(r, A62, 24), "VERCEL_TOKEN", "Vercel token", "Vercel令牌", "token")
T("fly_token", lambda r: "fm" + "2_lJPE" + s(r, B64, 220, 300) + "==", LONG)
N("cloudflare_api_token", lambda r: s(r, B64U, 39) + s(r, A62, 1), "CLOUDFLARE_API_TOKEN", "Cloudflare API token", "Cloudflare的API令牌", "api_token")
T("cloudflare_origin_ca_key", lambda r: "v1" + ".0-" + s(r, HEX, 24) + "-" + s(r, HEX, 146), LONG)
N("fastly_api_token", lambda r: s(r, B64U, 31) + s(r, A62, 1), "FASTLY_API_TOKEN", "Fastly API token", "Fastly的API令牌", "fastly_key")
N("linode_token", lambda r: s(r, HEX, 64), "LINODE_TOKEN", "Linode access token", "Linode访问令牌", "access_token")
T("supabase_access_token", lambda r: "sb" + "p_" + s(r, HEX, 40))
T("supabase_secret_key", lambda r: "sb_" + "secret_" + s(r, B64U, 22) + "_" + s(r, A62, 8))
N("supabase_service_role_jwt", lambda r: jwt(r, iss="supabase", ref=s(r, LOW, 20), role="service_role"), "SUPABASE_SERVICE_ROLE_KEY", "service role key", "service_role密钥", "apikey", LONG + ("query",))
T("firebase_fcm_server_key", lambda r: "AAAA" + s(r, B64U, 7) + ":AP" + "A91b" + s(r, B64U, 133) + s(r, A62, 1), LONG)
T("planetscale_token", lambda r: "pscale" + "_tkn_" + s(r, B64U, 42) + s(r, A62, 1))
T("vault_service_token", lambda r: "hv" + "s.CAES" + s(r, B64U, 88) + s(r, A62, 1), LONG)
T("terraform_cloud_token", lambda r: s(r, A62, 14) + ".at" + "lasv1." + s(r, A62, 67), LONG)
T("pulumi_token", lambda r: "pu" + "l-" + s(r, HEX, 40))
T("doppler_token", lambda r: "dp" + ".pt." + s(r, A62, 43))
T("tailscale_auth_key", lambda r: "ts" + "key-auth-k" + s(r, A62, 10) + "CNTRL-" + s(r, A62, 32))
N("ngrok_authtoken", lambda r: "2" + s(r, A62, 26) + "_" + s(r, A62, 21), "NGROK_AUTHTOKEN", "ngrok authtoken", "ngrok的authtoken", "authtoken")
T("onepassword_secret_key", lambda r: "A" + "3-" + s(r, UN, 6) + "-" + s(r, UN, 6) + "".join("-" + s(r, UN, 5) for _ in range(4)))
T("onepassword_service_account", lambda r: "op" + "s_ey" + "J" + b64u(b'"signInAddress":"my.1password.com","userAuth":{"method":"SRPg-4096"}' + by(r, 200))[1:], LONG)

# ---- chat
T("slack_bot_token", lambda r: "xo" + "xb-" + num(r, 12) + "-" + num(r, 13) + "-" + s(r, A62, 24))
T("slack_user_token", lambda r: "xo" + "xp-" + num(r, 12) + "-" + num(r, 12) + "-" + num(r, 13) + "-" + s(r, HEX, 32))
T("slack_app_token", lambda r: "xa" + "pp-1-A" + s(r, UN, 10) + "-" + num(r, 13) + "-" + s(r, HEX, 64))
T("slack_refresh_token", lambda r: "xo" + "xe-1-" + s(r, A62, 146), LONG)
T("slack_session_cookie", lambda r: "xo" + "xd-" + s(r, A62, 40) + "%2B" + s(r, A62, 30) + "%2F" + s(r, A62, 40) + "%3D%3D", LONG)


def hook(fmt, secret):
    def make(r):
        x = secret(r)
        return fmt(r, x), x
    return make


S("slack_webhook_url", hook(lambda r, x: "https://hooks.slack" + f".com/services/T{s(r, UN, 10)}/B{s(r, UN, 10)}/{x}", lambda r: s(r, A62, 24)), URLISH, "url", "ALERTS_URL")
S("discord_webhook_url", hook(lambda r, x: "https://discord" + f".com/api/webhooks/{num(r, 19)}/{x}", lambda r: s(r, A62, 1) + s(r, B64U, 66) + s(r, A62, 1)), URLISH, "url", "NOTIFY_URL")
T("discord_bot_token", lambda r: b64u(num(r, 19).encode()) + "." + "G" + s(r, B64U, 5) + "." + s(r, B64U, 37) + s(r, A62, 1))
S("teams_webhook_url", hook(lambda r, x: f"https://{r.choice(WORDS)}corp.webhook.office.com/webhookb2/{uuid(r)}@{uuid(r)}/IncomingWebhook/{x}/{uuid(r)}", lambda r: s(r, HEX, 32)), URLISH, "url", "TEAMS_URL")
S("feishu_bot_webhook_url", hook(lambda r, x: f"https://open.feishu.cn/open-apis/bot/v2/hook/{x}", uuid), URLISH, "url", "FEISHU_URL")
S("dingtalk_robot_url", hook(lambda r, x: f"https://oapi.dingtalk.com/robot/send?access_token={x}", lambda r: s(r, HEX, 64)), URLISH, "url", "DINGTALK_URL")
N("dingtalk_sign_secret", lambda r: "SE" + "C" + s(r, HEX, 64), "DINGTALK_SECRET", "signing secret of the robot", "机器人加签密钥", "secret")
S("wecom_robot_url", hook(lambda r, x: f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={x}", uuid), URLISH, "url", "WECOM_URL")
N("wechat_app_secret", lambda r: s(r, HEX, 32), "WECHAT_APP_SECRET", "WeChat AppSecret", "微信AppSecret", "secret")
T("telegram_bot_token", lambda r: num(r, 10) + ":AA" + r.choice("EFGH") + s(r, B64U, 31) + s(r, A62, 1), LONG)
T("matrix_access_token", lambda r: "sy" + "t_" + b64(r.choice(["maria", "deploy", "jbot", "alex12"]).encode()).rstrip("=") + "_" + s(r, LOW + UP, 20) + "_" + s(r, A62, 6))

# ---- money
T("stripe_secret_key", lambda r: "sk" + "_live_51" + s(r, A62, 97))
T("stripe_restricted_key", lambda r: "rk" + "_live_51" + s(r, A62, 97))
T("stripe_webhook_secret", lambda r: "wh" + "sec_" + s(r, A62, 32))
T("square_access_token", lambda r: "EA" + "AAl" + s(r, B64U, 58) + s(r, A62, 1))
T("square_oauth_secret", lambda r: "sq0" + "csp-" + s(r, B64U, 42) + s(r, A62, 1))
T("braintree_access_token", lambda r: "access" + "_token$production$" + s(r, LN, 16) + "$" + s(r, HEX, 32), LONG)
N("paypal_client_secret", lambda r: "E" + s(r, B64U, 78) + s(r, A62, 1), "PAYPAL_CLIENT_SECRET", "PayPal client secret", "PayPal客户端密钥", "client_secret")
T("shopify_admin_token", lambda r: "shp" + "at_" + s(r, HEX, 32))
T("plaid_access_token", lambda r: "access" + "-production-" + uuid(r))
T("flutterwave_secret_key", lambda r: "FLW" + "SECK-" + s(r, HEX, 32) + "-X")
T("adyen_api_key", lambda r: "AQE" + s(r, "hmvux", 1) + "hmfxK" + s(r, B64, 110) + "-" + s(r, B64, 43) + "=-" + s(r, A62, 16), LONG)
T("easypost_api_key", lambda r: "EZ" + "AK" + s(r, A62, 54))

# ---- mail and phone
S("twilio_auth_token_pair", hook(lambda r, x: f"client = Client('AC{s(r, HEX, 32)}', auth_token='{x}')", lambda r: s(r, HEX, 32)), LINE)
T("sendgrid_api_key", lambda r: "S" + "G." + s(r, B64U, 22) + "." + s(r, B64U, 42) + s(r, A62, 1))
T("mailgun_api_key", lambda r: "ke" + "y-" + s(r, HEX, 32))
T("mailchimp_api_key", lambda r: s(r, HEX, 32) + "-u" + "s" + str(r.randint(1, 21)))
N("postmark_server_token", uuid, "POSTMARK_SERVER_TOKEN", "Postmark server token", "Postmark服务器令牌", "server_token")
T("brevo_api_key", lambda r: "xkey" + "sib-" + s(r, HEX, 64) + "-" + s(r, A62, 16))

# ---- packages
T("npm_token", crc_token("np" + "m_"))
T("pypi_token", lambda r: "py" + "pi-AgEI" + "cHlwaS5vcmc" + "CJ" + s(r, B64U, 145, 160) + s(r, A62, 1), LONG)
T("rubygems_key", lambda r: "ruby" + "gems_" + s(r, HEX, 48))
T("crates_io_token", lambda r: "ci" + "o" + s(r, A62, 32))
T("nuget_key", lambda r: "oy" + "2" + s(r, LN, 43))
T("docker_hub_pat", lambda r: "dckr" + "_pat_" + s(r, B64U, 26) + s(r, A62, 1))
T("artifactory_api_key", lambda r: "AK" + "Cp8" + s(r, A62, 68))

# ---- models
T("huggingface_token", lambda r: "h" + "f_" + s(r, LOW + UP, 34))
T("openai_project_key", lambda r: "sk" + "-proj-" + s(r, B64U, 74) + "T3Blbk" + "FJ" + s(r, B64U, 73) + s(r, A62, 1), LONG)
T("openai_legacy_key", lambda r: "sk" + "-" + s(r, A62, 20) + "T3Blbk" + "FJ" + s(r, A62, 20))
T("openai_service_account_key", lambda r: "sk" + "-svcacct-" + s(r, B64U, 74) + "T3Blbk" + "FJ" + s(r, B64U, 73) + s(r, A62, 1), LONG)
T("anthropic_api_key", lambda r: "sk" + "-ant-api03-" + s(r, B64U, 86) + "-" + s(r, A62, 6) + "AA", LONG)
T("anthropic_oauth_token", lambda r: "sk" + "-ant-oat01-" + s(r, B64U, 86) + "-" + s(r, A62, 6) + "AA", LONG)
T("groq_api_key", lambda r: "gs" + "k_" + s(r, A62, 20) + "WGdyb3FY" + s(r, A62, 24))
T("replicate_token", lambda r: "r" + "8_" + s(r, A62, 37))
T("openrouter_key", lambda r: "sk" + "-or-v1-" + s(r, HEX, 64))
T("perplexity_key", lambda r: "pp" + "lx-" + s(r, A62, 48))
T("xai_key", lambda r: "xa" + "i-" + s(r, A62, 80))
T("deepseek_key", lambda r: "sk" + "-" + s(r, HEX, 32))
T("nvidia_api_key", lambda r: "nv" + "api-" + s(r, B64U, 63) + s(r, A62, 1))
T("langsmith_key", lambda r: "ls" + "v2_pt_" + s(r, HEX, 32) + "_" + s(r, HEX, 10))
T("langfuse_secret_key", lambda r: "sk" + "-lf-" + uuid(r))
T("pinecone_key", lambda r: "pc" + "sk_" + s(r, A62, 5, 6) + "_" + s(r, A62, 63))
T("tavily_key", lambda r: "tv" + "ly-dev-" + s(r, A62, 32))
T("zhipu_key", lambda r: s(r, HEX, 32) + "." + s(r, A62, 16))
N("cohere_key", lambda r: s(r, A62, 40), "COHERE_API_KEY", "Cohere API key", "Cohere的API密钥", "api_key")
N("wandb_key", lambda r: s(r, HEX, 40), "WANDB_API_KEY", "wandb API key", "wandb的API key", "api_key")
N("elevenlabs_key", lambda r: "sk" + "_" + s(r, HEX, 48), "ELEVEN_API_KEY", "ElevenLabs key", "ElevenLabs的密钥", "xi-api-key")

# ---- observability and work tools
T("databricks_token", lambda r: "da" + "pi" + s(r, HEX, 32) + r.choice(["", "-2", "-3"]))
N("datadog_api_key", lambda r: s(r, HEX, 32), "DD_API_KEY", "Datadog API key", "Datadog的API key", "api_key")
T("newrelic_user_key", lambda r: "NR" + "AK-" + s(r, UN, 27))
N("newrelic_license_key", lambda r: s(r, HEX, 36) + "NR" + "AL", "NEW_RELIC_LICENSE_KEY", "New Relic license key", "New Relic许可密钥", "Api-Key")
S("sentry_dsn", hook(lambda r, x: f"https://{x}@o{num(r, 6)}.ingest.us.sentry.io/{num(r, 16)}", lambda r: s(r, HEX, 32)), URLISH, "url", "SENTRY_DSN")
T("sentry_org_token", lambda r: "sn" + "trys_" + b64(json.dumps({"iat": r.randint(1700000000, 1780000000), "url": "https://sentry.io", "org": r.choice(WORDS)}).encode()) + "_" + s(r, B64, 43), LONG)
T("sentry_user_token", lambda r: "sn" + "tryu_" + s(r, HEX, 64))
T("grafana_service_account", lambda r: "gl" + "sa_" + s(r, A62, 32) + "_" + s(r, HEX, 8))
T("grafana_cloud_token", lambda r: "gl" + "c_" + b64(json.dumps({"o": num(r, 6), "n": "stack-" + num(r, 6) + "-push", "k": s(r, A62, 24), "m": {"r": "eu"}}, separators=(",", ":")).encode()))
N("pagerduty_key", lambda r: "u+" + s(r, B64U, 17) + s(r, A62, 1), "PAGERDUTY_API_KEY", "PagerDuty API key", "PagerDuty的API密钥", "api_key")
T("linear_key", lambda r: "lin" + "_api_" + s(r, A62, 40))
T("notion_token", lambda r: "nt" + "n_" + num(r, 11) + s(r, A62, 35))
T("figma_token", lambda r: "fi" + "gd_" + s(r, B64U, 39) + s(r, A62, 1))
T("airtable_pat", lambda r: "pa" + "t" + s(r, A62, 14) + "." + s(r, HEX, 64))
T("asana_pat", lambda r: "2/" + num(r, 16) + "/" + num(r, 16) + ":" + s(r, HEX, 32), LONG)
T("atlassian_api_token", lambda r: "AT" + "ATT3xFfGF0" + s(r, B64U, 171) + "=" + s(r, HEX.upper()[:16], 8), LONG)
N("okta_api_token", lambda r: "00" + s(r, B64U, 39) + s(r, A62, 1), "OKTA_API_TOKEN", "Okta API token", "Okta的API令牌", "token")
N("auth0_client_secret", lambda r: s(r, B64U, 63) + s(r, A62, 1), "AUTH0_CLIENT_SECRET", "Auth0 client secret", "Auth0的client secret", "client_secret")
T("postman_key", lambda r: "PM" + "AK-" + s(r, HEX, 24) + "-" + s(r, HEX, 34))
T("buildkite_token", lambda r: "bk" + "ua_" + s(r, HEX, 40))
T("circleci_pat", lambda r: "CCI" + "PAT_" + s(r, A62, 22) + "_" + s(r, HEX, 40))
T("sonarqube_token", lambda r: "sq" + "u_" + s(r, HEX, 40))
N("snyk_token", uuid, "SNYK_TOKEN", "Snyk token", "Snyk令牌", "token")
N("algolia_admin_key", lambda r: s(r, HEX, 32), "ALGOLIA_ADMIN_KEY", "Algolia admin key", "Algolia管理密钥", "x-algolia-api-key")
T("contentful_pat", lambda r: "CF" + "PAT-" + s(r, B64U, 42) + s(r, A62, 1))
T("hubspot_private_app", lambda r: "pa" + "t-" + r.choice(["na1", "eu1"]) + "-" + uuid(r))
T("dropbox_token", lambda r: "sl" + ".B" + s(r, B64U, 134) + s(r, A62, 1), LONG)
T("twitter_bearer", lambda r: "A" * 21 + s(r, A62, 9) + "%2B" + s(r, A62, 16) + "%3D" + s(r, A62, 50), LONG)
T("facebook_token", lambda r: "EA" + "ACEdEose0cBA" + s(r, A62, 150, 180), LONG)
N("twitch_client_secret", lambda r: s(r, LN, 30), "TWITCH_CLIENT_SECRET", "Twitch client secret", "Twitch客户端密钥", "client_secret")
T("salesforce_session_id", lambda r: "00" + "D" + s(r, A62, 12) + "!AQ" + s(r, A62 + "._", 90) + s(r, A62, 1), LONG)
T("launchdarkly_api_key", lambda r: "ap" + "i-" + uuid(r))
T("dynatrace_token", lambda r: "dt0" + "c01." + s(r, B32, 24) + "." + s(r, B32, 64))
T("mapbox_secret_token", lambda r: "sk" + ".ey" + "J1Ijoi" + b64u(by(r, 54)) + "." + s(r, B64U, 21) + s(r, A62, 1))
T("intercom_token", lambda r: b64(("tok" + ":" + s(r, HEX, 8) + "_" + s(r, HEX, 4) + "_" + s(r, HEX, 4) + "_" + s(r, HEX, 4) + "_" + s(r, HEX, 12) + ":1:0").encode()))
T("typeform_token", lambda r: "tf" + "p_" + s(r, A62, 44) + "_" + s(r, A62, 14))
T("duffel_token", lambda r: "duffel" + "_live_" + s(r, B64U, 42) + s(r, A62, 1))

# ---- keys and wallets
KEYPLACES = TEXTY
S("pem_rsa_private_key", rsa_pem, KEYPLACES, "block")
S("pem_ec_private_key", ec_pem, KEYPLACES, "block")
S("openssh_private_key", ssh_pem, KEYPLACES, "block")
S("pgp_private_key_block", pgp_pem, KEYPLACES, "block")
S("base64_of_pem_key", lambda r: (lambda b: (b, b))(b64(r.choice([rsa_pem, pkcs8, ssh_pem])(r)[0].encode())), TEXTY + ("environment",), "line", "DEPLOY_MATERIAL")
S("pem_key_single_line_env", lambda r: (lambda p: ('"' + p[0].replace("\n", "\\n") + '"', p[1].replace("\n", "\\n")))(pkcs8(r)), ("prompt", "tool_input", "output", "environment", "chinese"), "line", "APP_SIGNER")


def ppk(r):
    lines = [s(r, B64, 64), s(r, B64, 43) + "="]
    body = "\n".join(lines)
    return ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ed25519-key-2025\nPublic-Lines: 2\n"
            f"AAAAC3NzaC1lZDI1NTE5AAAAI{s(r, B64, 39)}\n{s(r, B64, 4)}\nPrivate-Lines: 2\n{body}\nPrivate-MAC: {s(r, HEX, 64)}"), body


S("putty_private_key", ppk, KEYPLACES, "block")
S("jwk_private_key", lambda r: (lambda d: (json.dumps({"kty": "EC", "crv": "P-256", "kid": s(r, A62, 8), "x": b64u(by(r, 32)), "y": b64u(by(r, 32)), "d": d}), d))(b64u(by(r, 32))), ("prompt", "tool_input", "output", "environment", "chinese"), "line", "SIGNING_JWK")
T("age_secret_key", lambda r: bech32("age-" + "secret-key-", by(r, 32)).upper())
T("nostr_private_key", lambda r: bech32("ns" + "ec", by(r, 32)))
T("bitcoin_extended_private_key", lambda r: base58check(bytes.fromhex("0488ADE4") + bytes(9) + by(r, 32) + b"\0" + by(r, 32)))
N("bitcoin_wif_key", lambda r: base58check(b"\x80" + by(r, 32) + b"\x01"), "WALLET_PRIVATE_KEY_WIF", "wallet's private key", "钱包私钥", "private_key")
N("ethereum_private_key", lambda r: "0x" + s(r, HEX, 64), "DEPLOYER_PRIVATE_KEY", "deployer's private key", "部署账户的私钥", "private_key")
BIP = ("abandon ability absorb abstract access accident actor adapt afford agent alarm album anchor ancient apple arctic arena "
       "armor artist aspect atom auction autumn awesome bachelor bamboo banner basket beach become benefit blanket blossom "
       "border bracket bridge bubble cabin cactus canvas carbon casual catalog cement chalk cheese cinnamon clarify cliff "
       "cluster coconut coral cousin cradle cricket crystal cupboard dawn debris decade derive diamond dolphin donkey dove "
       "drift eagle echo effort elbow elegant ember engine erosion escape evidence exotic fabric faculty fatigue feature "
       "festival filter fiscal flavor fossil frozen galaxy gallery garment gesture giraffe glimpse gospel gravity hamster "
       "harvest hazard hidden hollow humble hybrid icon impulse inherit install jacket jaguar journey jungle kangaroo "
       "kitchen ladder laundry lecture lizard lobster lumber lunar magnet mammal marble meadow mimic mosquito museum napkin "
       "neglect noodle nuclear oblige obscure october olympic orbit ostrich oxygen paddle parrot patrol peanut pelican "
       "photo piano pioneer pluck polar pottery prosper puzzle pyramid quantum quote rabbit raccoon rebel ribbon ritual "
       "saddle salmon satoshi scatter script shuffle silver slender snack solar spatial sphere squirrel stadium sunset "
       "talent tenant thrive tilt tornado tribe tumble tunnel umbrella unfold usual vacuum velvet venture violin voyage "
       "walnut wealth whisper width winter wrestle yellow zebra zone").split()


def seed_phrase(r):
    p = " ".join(r.sample(BIP, r.choice([12, 12, 24])))
    return r.choice(["seed phrase: ", "Recovery phrase is: ", "mnemonic = \"", "My wallet's seed words are "]) + p, p


def seed_fix(r):
    t, p = seed_phrase(r)
    return (t + '"' if '"' in t else t), p


S("bip39_seed_phrase", seed_fix, TEXTY, "prose")
S("wireguard_private_key", hook(lambda r, x: f"[Interface]\nAddress = 10.8.0.{r.randint(2, 250)}/24\nPrivate" + f"Key = {x}\nDNS = 1.1.1.1\n\n[Peer]\nAllowedIPs = 0.0.0.0/0\nEndpoint = vpn.acme.io:51820", lambda r: b64(by(r, 32))), TEXTY, "block")
N("bitlocker_recovery_key", lambda r: "-".join(f"{r.randint(0, 65535) * 11:06d}" for _ in range(8)), "BITLOCKER_RECOVERY_KEY", "BitLocker recovery key", "BitLocker恢复密钥", "recovery_key", ("url", "path"))
S("otpauth_uri", hook(lambda r, x: f"otpauth://totp/ACME:{r.choice(['maria', 'ops', 'l.wang'])}%40acme.io?secret={x}&issuer=ACME&digits=6&period=30", lambda r: s(r, B32, 32)), URLISH, "url", "MFA_URI")
N("totp_seed", lambda r: s(r, B32, 32), "TOTP_SECRET", "TOTP secret", "二次验证的密钥", "totp_secret")
S("two_factor_backup_codes", lambda r: (lambda c: ("GitHub two-factor recovery codes\n\n" + c, c))("\n".join(s(r, HEX, 5) + "-" + s(r, HEX, 5) for _ in range(8))), TEXTY, "block")

# ---- URLs with credentials
S("mongodb_url", hook(lambda r, x: f"mongodb+srv://{user(r)}:{x}@cluster0.{s(r, LN, 5)}.mongodb.net/shop?retryWrites=true&w=majority", upwd), URLISH, "url", "MONGODB_URI")
S("postgres_url", hook(lambda r, x: f"{r.choice(['postgres', 'postgresql', 'postgresql+asyncpg'])}://{user(r)}:{x}@{host(r)}:5432/{r.choice(['orders', 'app', 'billing'])}", upwd), URLISH, "url", "DATABASE_URL")
S("redis_url", hook(lambda r, x: f"{r.choice(['redis', 'rediss'])}://:{x}@{host(r)}:6379/{r.randint(0, 4)}", upwd), URLISH, "url", "REDIS_URL")
S("amqp_url", hook(lambda r, x: f"amqps://{user(r)}:{x}@{host(r)}:5671/vhost1", upwd), URLISH, "url", "BROKER_URL")
S("jdbc_url_password_parameter", hook(lambda r, x: f"jdbc:{r.choice(['mysql', 'postgresql'])}://{host(r)}/orders?user={user(r)}&password={x}&useSSL=true", upwd), URLISH, "url", "JDBC_URL")
S("http_basic_auth_url", hook(lambda r, x: f"https://{user(r)}:{x}@{r.choice(['git', 'artifacts', 'nexus', 'jenkins'])}.acme.io/{r.choice(WORDS)}/repo.git", upwd), URLISH, "url", "UPSTREAM")
S("ftp_url_percent_encoded_password", hook(lambda r, x: f"sftp://{user(r)}:{x}@{host(r)}/incoming/", lambda r: quote(s(r, A62, 6) + "@" + s(r, A62, 4) + "/" + s(r, A62, 4), safe="")), URLISH, "url", "DROP_LOCATION")
S("smtp_url_with_address_user", hook(lambda r, x: f"smtp://no-reply%40acme.io:{x}@smtp.mailhost.net:587", upwd), URLISH, "url", "MAILER_DSN")
S("pip_index_url", hook(lambda r, x: f"pip install --extra-index-url https://{r.choice(['__token__', 'ci', 'build'])}:{x}@pypi.acme.io/simple/ acme-core", lambda r: s(r, A62, 24, 40)), LINE, "cmd")
S("url_access_token_parameter", hook(lambda r, x: f"https://api.{r.choice(WORDS)}.io/v2/me/items?fields=id,name&access_token={x}&limit=50", lambda r: s(r, A62, 32, 64)), URLISH, "url", "FEED")
S("url_api_key_parameter", hook(lambda r, x: f"https://maps.{r.choice(WORDS)}.com/geocode/json?address=Berlin&api_key={x}", lambda r: s(r, LN, 24, 40)), URLISH, "url", "GEOCODER")
S("logic_app_sig_url", hook(lambda r, x: f"https://prod-{r.randint(10, 99)}.westeurope.logic.azure.com/workflows/{s(r, HEX, 32)}/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig={x}", lambda r: s(r, B64U, 42) + s(r, A62, 1)), URLISH, "url", "FLOW_URL")
S("aws_presigned_url", hook(lambda r, x: f"https://{r.choice(WORDS)}-exports.s3.eu-central-1.amazonaws.com/2026/report.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={'AS' + 'IA' + s(r, B32, 16)}%2F20260314%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Date=20260{r.randint(1, 9)}14T101500Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature={x}", lambda r: s(r, HEX, 64)), URLISH, "url", "EXPORT_LINK")
S("cloudfront_signed_url", hook(lambda r, x: f"https://d{s(r, LN, 13)}.cloudfront.net/video/intro.mp4?Expires={r.randint(1780000000, 1890000000)}&Signature={x}&Key-Pair-Id=K{s(r, UN, 13)}", lambda r: s(r, B64U[:-1] + "~", 342) + "__"), URLISH, "url", "VIDEO_LINK")
S("jupyter_token_url", hook(lambda r, x: f"http://127.0.0.1:8888/lab?token={x}", lambda r: s(r, HEX, 48)), URLISH, "url", "NOTEBOOK")
S("password_reset_link", hook(lambda r, x: f"https://app.{r.choice(WORDS)}.io/account/reset-password?uid={num(r, 5)}&token={x}", lambda r: s(r, LN, 6) + "-" + s(r, HEX, 32)), URLISH, "url", "LINK")
S("oauth_implicit_fragment", hook(lambda r, x: f"http://localhost:3000/callback#id={num(r, 3)}&access_token={x}&token_type=bearer&expires_in=3599", lambda r: s(r, B64U, 60) + s(r, A62, 1)), URLISH, "url", "RETURN_URL")
S("oauth_authorization_code_url", hook(lambda r, x: f"https://app.{r.choice(WORDS)}.io/oauth/callback?code={x}&state={s(r, A62, 12)}", lambda r: "4/0A" + s(r, B64U, 66) + s(r, A62, 1)), ("prompt", "output", "url", "chinese", "tool_input"), "url")

# ---- headers
AUTH = "Author" + "ization: "
S("header_basic", lambda r: (lambda b: (AUTH + "Basic " + b, b))(b64((user(r) + ":" + pwd(r)).encode())), LINE)
S("header_bearer_opaque", hook(lambda r, x: AUTH + "Bearer " + x, lambda r: s(r, A62, 32, 64)), LINE)
S("header_token_scheme", hook(lambda r, x: AUTH + "Token " + x, lambda r: s(r, HEX, 40)), LINE)
S("header_apikey_scheme", hook(lambda r, x: AUTH + "ApiKey " + x, lambda r: b64((s(r, B64U, 20) + ":" + s(r, B64U, 22)).encode())), LINE)
S("header_digest", hook(lambda r, x: AUTH + f'Digest username="{user(r)}", realm="acme", nonce="{s(r, HEX, 32)}", uri="/reports", qop=auth, nc=00000001, cnonce="{s(r, HEX, 8)}", response="{x}"', lambda r: s(r, HEX, 32)), LINE)
S("header_aws4_signature", hook(lambda r, x: AUTH + f"AWS4-HMAC-SHA256 Credential={'AK' + 'IA' + s(r, B32, 16)}/20260{r.randint(1, 9)}11/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature={x}", lambda r: s(r, HEX, 64)), LINE)
S("header_okta_ssws", hook(lambda r, x: AUTH + "SSWS " + x, lambda r: "00" + s(r, B64U, 39) + s(r, A62, 1)), LINE)
S("header_geniekey", hook(lambda r, x: AUTH + "GenieKey " + x, uuid), LINE)
S("header_splunk_hec", hook(lambda r, x: AUTH + "Splunk " + x, uuid), LINE)
S("header_hawk", hook(lambda r, x: AUTH + f'Hawk id="{s(r, LN, 10)}", ts="{r.randint(1780000000, 1790000000)}", nonce="{s(r, A62, 6)}", mac="{x}"', lambda r: b64(by(r, 32))), LINE)
S("header_ntlm", hook(lambda r, x: AUTH + "NTLM " + x, lambda r: b64(b"NTLMSSP\0\x03\0\0\0" + by(r, 150))), LINE)
S("header_oauth1", hook(lambda r, x: AUTH + f'OAuth oauth_consumer_key="{s(r, A62, 25)}", oauth_nonce="{s(r, A62, 11)}", oauth_signature="{x}", oauth_signature_method="HMAC-SHA1", oauth_version="1.0"', lambda r: quote(b64(by(r, 20)), safe="")), LINE)
S("header_x_api_key", hook(lambda r, x: r.choice(["X-Api-Key: ", "x-api-key: ", "X-API-KEY: "]) + x, lambda r: s(r, A62, 40)), LINE)
S("header_x_auth_token_custom", hook(lambda r, x: r.choice(["X-Auth-Token: ", "X-Access-Token: ", "PRIVATE-TOKEN: "]) + x, lambda r: s(r, B64U, 31) + s(r, A62, 1)), LINE)
S("header_ocp_subscription_key", hook(lambda r, x: "Ocp-Apim-Subscription-Key: " + x, lambda r: s(r, HEX, 32)), LINE)
S("cookie_session", hook(lambda r, x: f"Cookie: theme=dark; lang=en; {r.choice(['sessionid', 'PHPSESSID', 'JSESSIONID', '_shop_session'])}={x}; _ga=GA1.2.{num(r, 9)}.{num(r, 10)}", lambda r: s(r, LN, 32)), LINE)
S("set_cookie_connect_sid", hook(lambda r, x: f"Set-Cookie: connect.sid={x}; Path=/; Expires=Wed, 0{r.randint(1, 9)} Dec 2026 10:00:00 GMT; HttpOnly; Secure", lambda r: "s%3A" + s(r, B64U, 32) + "." + s(r, A62, 43)), LINE)
S("aspnet_auth_cookie", hook(lambda r, x: f"cookie: .AspNetCore.Cookies={x}", lambda r: "CfDJ8" + s(r, B64U, 380) + s(r, A62, 1)), LINE)
T("jwt", lambda r: jwt(r, email=r.choice(WORDS) + "@example.com", scope="read write"), LONG)
T("jwe_compact", lambda r: b64u(b'{"alg":"dir","enc":"A256GCM"}') + ".." + b64u(by(r, 12)) + "." + b64u(by(r, 150)) + "." + b64u(by(r, 16)), LONG)

# ---- commands
S("cmd_sshpass", hook(lambda r, x: f"sshpass -p '{x}' ssh -o StrictHostKeyChecking=no {user(r)}@{host(r)} uptime", pwd), LINE, "cmd")
S("cmd_curl_u", hook(lambda r, x: f"curl -s -u {user(r)}:{x} https://jenkins.acme.io/job/build/api/json", upwd), LINE, "cmd")
S("cmd_mysql_p", hook(lambda r, x: f"mysql -h {host(r)} -u {user(r)} -p{x} orders -e 'show tables'", upwd), LINE, "cmd")
S("cmd_pgpassword", hook(lambda r, x: f"PGPASS" + f"WORD={x} psql -h {host(r)} -U {user(r)} -d app -c '\\dt'", upwd), LINE, "cmd")
S("cmd_redis_cli_a", hook(lambda r, x: f"redis-cli -h {host(r)} -a {x} info memory", upwd), LINE, "cmd")
S("cmd_docker_login", hook(lambda r, x: f"docker login registry.acme.io -u {user(r)} -p {x}", upwd), LINE, "cmd")
S("cmd_sudo_stdin", hook(lambda r, x: f"echo '{x}' | sudo -S systemctl restart nginx", pwd), LINE, "cmd")
S("cmd_openssl_passin", hook(lambda r, x: f"openssl pkcs12 -in client.p12 -nodes -passin pass:{x} -out client.pem", upwd), LINE, "cmd")
S("cmd_ldapsearch_w", hook(lambda r, x: f"ldapsearch -x -H ldap://{host(r)} -D 'cn=admin,dc=acme,dc=io' -w '{x}' -b 'dc=acme,dc=io'", pwd), LINE, "cmd")
S("cmd_az_service_principal", hook(lambda r, x: f"az login --service-principal -u {uuid(r)} -p {x} --tenant {uuid(r)}", lambda r: s(r, A62, 3) + "8Q~" + s(r, A62 + "_.", 33) + s(r, A62, 1)), LINE, "cmd")
S("cmd_docker_run_env", hook(lambda r, x: f"docker run -d --name db -e MYSQL_ROOT_PASS" + f"WORD={x} -p 3306:3306 mysql:8", upwd), LINE, "cmd")
S("cmd_long_password_option", hook(lambda r, x: f"mongodump --host {host(r)} --username {user(r)} --password '{x}' --out /backup", pwd), LINE, "cmd")
S("cmd_wget_http_password", hook(lambda r, x: f"wget --http-user={user(r)} --http-password={x} https://files.acme.io/nightly.zip", upwd), LINE, "cmd")
S("cmd_smbclient_percent", hook(lambda r, x: f"smbclient //fileserver/share -U '{user(r)}%{x}' -c ls", upwd), LINE, "cmd")
S("cmd_zip_archive_password", hook(lambda r, x: f"7z x payroll-2026.7z -p{x} -o/tmp/payroll", upwd), LINE, "cmd")
S("cmd_git_extraheader", lambda r: (lambda b: (f'git -c http.extraheader="AUTHOR' + f'IZATION: basic {b}" fetch origin', b))(b64(("x-access-token:" + s(r, A62, 40)).encode())), LINE, "cmd")
S("cmd_java_keystore_property", hook(lambda r, x: f"java -Djavax.net.ssl.keyStore=/etc/app/ks.jks -Djavax.net.ssl.keyStorePassword={x} -jar app.jar", upwd), LINE, "cmd")
S("cmd_chpasswd", hook(lambda r, x: f"echo '{user(r)}:{x}' | chpasswd", pwd), LINE, "cmd")
S("cmd_gh_secret_set", hook(lambda r, x: f"gh secret set DEPLOY_PASS --body '{x}' --repo acme/web", pwd), LINE, "cmd")
S("cmd_powershell_securestring", hook(lambda r, x: f'$pw = ConvertTo-SecureString "{x}" -AsPlainText -Force', pwd), LINE, "cmd")
S("cmd_net_use", hook(lambda r, x: f"net use Z: \\\\fileserver\\finance /user:ACME\\{user(r)} {x}", upwd), LINE, "cmd")
S("cmd_form_post_password_grant", hook(lambda r, x: f"curl -X POST https://idp.acme.io/oauth/token -d 'grant_type=password&username={user(r)}&password={x}'", upwd), LINE, "cmd")
S("cmd_curl_json_login", hook(lambda r, x: f"curl -X POST https://app.acme.io/api/login -H 'Content-Type: application/json' -d '" + '{"email":"ops@acme.io","password":"' + x + '"}\'', pwd), LINE, "cmd")
S("export_line", hook(lambda r, x: f"export {r.choice(['INTERNAL_SERVICE_SECRET', 'BILLING_SIGNING_KEY', 'SMTP_PASS', 'WEBHOOK_HMAC_SECRET'])}=\"{x}\"", lambda r: s(r, A62, 24, 48)), LINE, "cmd")
S("fish_set_and_cmd_setx", hook(lambda r, x: r.choice(["set -gx API_SECRET ", "setx API_SECRET "]) + x, lambda r: s(r, A62, 32)), LINE, "cmd")

# ---- configuration
BLK = TEXTY
S("netrc", hook(lambda r, x: f"machine {r.choice(['api.heroku.com', 'git.acme.io', 'ftp.northwind.io'])}\n  login {user(r)}\n  password {x}", pwd), BLK, "block")
S("pgpass_line", hook(lambda r, x: f"{host(r)}:5432:orders:{user(r)}:{x}", upwd), ("output", "tool_input"), "pgpass")
S("npmrc_auth_token", hook(lambda r, x: f"//npm.acme.io/:_auth" + f"Token={x}", uuid), LINE)
S("npmrc_auth_base64", lambda r: (lambda b: (f"//nexus.acme.io/repository/npm/:_auth={b}", b))(b64(("ci:" + pwd(r)).encode())), LINE)
S("docker_config_auth", lambda r: (lambda b: ('{\n  "auths": {\n    "https://index.docker.io/v1/": {\n      "auth": "' + b + '"\n    }\n  }\n}', b))(b64((user(r) + ":" + pwd(r)).encode())), BLK, "block")
S("kubeconfig_token", lambda r: (lambda t: (f"users:\n- name: prod-admin\n  user:\n    token: {t}", t))(s(r, A62, 40, 64)), BLK, "block")
S("kubeconfig_client_key_data", lambda r: (lambda t: (f"users:\n- name: kubernetes-admin\n  user:\n    client-certificate-data: {b64(b'-----BEGIN CERTIFICATE-----' + by(r, 200))}\n    client-key-data: {t}", t))(b64(rsa_pem(r)[0].encode())), BLK, "block")
S("kubernetes_secret_manifest", lambda r: (lambda t: (f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db-credentials\ntype: Opaque\ndata:\n  username: {b64(user(r).encode())}\n  password: {t}", t))(b64(pwd(r).encode())), BLK, "block")
S("yaml_password", hook(lambda r, x: f"database:\n  host: {host(r)}\n  user: {user(r)}\n  password: {r.choice([x, chr(34) + x + chr(34)])}\n  pool: 5", upwd), BLK, "block")
S("toml_secret", hook(lambda r, x: f'[auth]\nissuer = "https://idp.acme.io"\nclient_secret = "{x}"\nscopes = ["openid"]', lambda r: s(r, A62, 32)), BLK, "block")
S("properties_password", hook(lambda r, x: f"spring.datasource.url=jdbc:mysql://{host(r)}/app\nspring.datasource.username={user(r)}\nspring.datasource.password={x}", pwd), BLK, "block")
S("ini_password", hook(lambda r, x: f"[client]\nuser={user(r)}\nhost={host(r)}\npassword = {x}\n", pwd), BLK, "block")
S("maven_settings_xml", hook(lambda r, x: f"<server>\n  <id>releases</id>\n  <username>{user(r)}</username>\n  <password>{x}</password>\n</server>", upwd), BLK, "block")
S("xml_attribute_password", hook(lambda r, x: f'<add key="SmtpPassword" value="{x}" />', upwd), LINE)
S("dotnet_connection_string", hook(lambda r, x: f"Server=tcp:{host(r)},1433;Initial Catalog=Orders;User ID={user(r)};Password={x};Encrypt=True;", upwd), LINE + ("environment",), env="ConnectionStrings__Default")
S("libpq_keyword_dsn", hook(lambda r, x: f"host={host(r)} port=5432 dbname=app user={user(r)} password={x} sslmode=require", upwd), LINE + ("environment",), env="PG_DSN")
S("python_keyword_argument", hook(lambda r, x: f'conn = psycopg2.connect(host="{host(r)}", user="{user(r)}", password="{x}")', pwd), LINE)
S("js_object_literal", hook(lambda r, x: f"const pool = new Pool({{ user: '{user(r)}', password: '{x}', host: '{host(r)}' }})", pwd), LINE)
S("php_define", hook(lambda r, x: f"define( 'DB_PASSWORD', '{x}' );", pwd), LINE)
S("wordpress_salt", hook(lambda r, x: f"define('SECURE_AUTH_KEY',  '{x}');", lambda r: s(r, A62 + "!@#$%^&*()-_[]{}<>~+=,.;:/?|", 64)), ("prompt", "tool_input", "output", "chinese"))
S("java_constant", hook(lambda r, x: f'private static final String JWT_SECRET = "{x}";', lambda r: s(r, A62, 43, 64)), LINE)
S("go_struct_literal", hook(lambda r, x: f'cfg := smtp.Config{{Host: "smtp.acme.io", Username: "{user(r)}", Password: "{x}"}}', pwd), LINE)
S("terraform_variable_default", hook(lambda r, x: f'variable "db_password" {{\n  type      = string\n  sensitive = true\n  default   = "{x}"\n}}', pwd), BLK, "block")
S("terraform_state_attribute", hook(lambda r, x: f'"attributes": {{\n  "engine": "postgres",\n  "id": "db-{s(r, UN, 26)}",\n  "master_password": "{x}",\n  "port": 5432\n}}', upwd), BLK, "block")
S("sql_identified_by", hook(lambda r, x: r.choice([f"CREATE USER '{user(r)}'@'%' IDENTIFIED BY '{x}';", f"ALTER ROLE {user(r)} WITH LOGIN PASSWORD '{x}';"]), pwd), LINE)
S("django_secret_key", hook(lambda r, x: f"SECRET_KEY = '{x}'", lambda r: s(r, LN + "!@#$%^&*(-_=+)", 50)), LINE)
N("rails_secret_key_base", lambda r: s(r, HEX, 128), "SECRET_KEY_BASE", "secret_key_base", "secret_key_base的值", "secret_key_base", ("path", "url"))
N("laravel_app_key", lambda r: "base64:" + b64(by(r, 32)), "APP_KEY", "Laravel APP_KEY", "Laravel的APP_KEY", "app_key", ("path", "url"))
S("wpa_passphrase", hook(lambda r, x: f'network={{\n    ssid="Office-5G"\n    psk="{x}"\n}}', pwd), BLK, "block")
S("ldap_bindpw", hook(lambda r, x: f"binddn cn=reader,dc=acme,dc=io\nbindpw {x}", pwd), BLK, "block")
S("cisco_enable_password", hook(lambda r, x: f"hostname core-sw1\nenable password 0 {x}\nsnmp-server location rack 4", upwd), BLK, "block")
S("snmp_community", hook(lambda r, x: f"snmpwalk -v2c -c {x} 10.0.0.1 1.3.6.1.2.1.1", lambda r: s(r, A62, 14)), LINE, "cmd")
S("kafka_sasl_jaas", hook(lambda r, x: f'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="{user(r)}" password="{x}";', upwd), LINE)
S("rails_database_yml_erb_default", hook(lambda r, x: f"password: <%= ENV.fetch('DB_PASSWORD', '{x}') %>", pwd), LINE)
S("shell_default_expansion", hook(lambda r, x: "DB_PASS" + 'WORD="${DB_PASS' + 'WORD:-' + x + '}"', upwd), LINE)
S("json_in_json_escaped", lambda r: (lambda p: (json.dumps({"event": "config.updated", "payload": json.dumps({"host": host(r), "db_password": p, "retries": 3})}), p))(s(r, A62, 16, 24)), ("prompt", "tool_input", "output", "chinese"))
S("json_in_json_in_json", lambda r: (lambda p: (json.dumps({"Records": [{"body": json.dumps({"Message": json.dumps({"clientSecret": p, "region": "eu"})})}]}), p))(s(r, A62, 32)), ("prompt", "tool_input", "output", "chinese"))
S("oauth_token_response", hook(lambda r, x: '{"token_type":"Bearer","expires_in":3600,"scope":"read","refresh_token":"' + x + '"}', lambda r: s(r, A62, 43)), ("prompt", "tool_input", "output", "chinese"))
S("curl_verbose_lowercase_header", hook(lambda r, x: f"> GET /v1/users HTTP/2\n> Host: api.acme.io\n> author" + f"ization: bearer {x}\n> accept: */*\n>\n< HTTP/2 403", lambda r: s(r, A62, 40)), BLK, "block")
S("python_dict_repr_headers", hook(lambda r, x: "headers={'User-Agent': 'python-requests/2.32.3', 'Accept': '*/*', 'Author" + f"ization': 'Bearer {x}'}}", lambda r: s(r, A62, 40)), LINE)
S("markdown_table_password", hook(lambda r, x: f"| environment | user | password |\n|---|---|---|\n| staging | {user(r)} | {x} |", pwd), BLK, "block")
S("csv_with_password_column", hook(lambda r, x: f"id,email,password,role\n{num(r, 3)},ops@acme.io,{x},admin", pwd), BLK, "block")
S("login_transcript", hook(lambda r, x: f"Trying 10.0.4.2...\nConnected to switch4.\nUsername: {user(r)}\nPassword: {x}\nswitch4>", upwd), BLK, "block")
S("dockerfile_env", hook(lambda r, x: f"FROM node:22-slim\nENV ADMIN_PASS" + f"WORD={x}\nRUN npm ci", upwd), BLK, "block")
S("git_diff_added_secret", hook(lambda r, x: f"@@ -4,3 +4,3 @@\n smtp_host: mail.acme.io\n-smtp_password: changeme\n+smtp_password: {x}\n smtp_port: 587", upwd), BLK, "block")
S("gh_actions_inline_env", hook(lambda r, x: f"    env:\n      NODE_ENV: production\n      SIGNING_SECRET: {x}\n    run: npm run build", lambda r: s(r, HEX, 48)), BLK, "block")


def wrapped(r):
    kind = r.choice([crc_token("gh" + "p_"), lambda q: "sk" + "-ant-api03-" + s(q, B64U, 86) + "-" + s(q, A62, 6) + "AA",
                     lambda q: jwt(q, role="admin"), lambda q: "gl" + "pat-" + s(q, A62, 20)])
    t = kind(r)
    k = r.randint(10, len(t) - 8) if len(t) < 60 else r.randint(30, min(72, len(t) - 10))
    t = t[:k] + r.choice(["\n", "\n", "\n    ", "\\\n"]) + t[k:]
    return t, t


S("token_wrapped_over_two_lines", wrapped, ("prompt", "output", "tool_input", "chinese"), "block")

# ---- prose
P_EN = ("prompt", "tool_input", "output")
S("prose_the_password_is", hook(lambda r, x: r.choice(["The password is {}", "password for the staging box is {}", "Log in as admin, the password is {}", "the root password on that machine is still {}", "use {} as the password", "my password's {}"]).format(x), pwd), P_EN, "prose")
S("prose_passcode", hook(lambda r, x: r.choice(["my passcode: {}", "Passcode = {}", "the passphrase for the key is \"{}\"", "passphrase: {}"]).format(x), pwd), P_EN, "prose")
S("prose_user_slash_password", hook(lambda r, x: r.choice(["credentials: {u} / {p}", "login with {u}/{p}", "creds are {u}:{p}"]).format(u=user(r), p=x), pwd), P_EN, "prose")
S("prose_spoken_api_key", hook(lambda r, x: r.choice(["here's the api key {}", "API key for the sandbox: {}", "the secret key they gave us is {}", "token is {}"]).format(x), lambda r: s(r, A62, 32, 40)), P_EN, "prose")
S("prose_german_password", hook(lambda r, x: r.choice(["Das Passwort lautet {}", "Kennwort: {}", "Zugangsdaten: admin, Passwort {}"]).format(x), pwd), P_EN, "prose")
S("prose_spanish_french_password", hook(lambda r, x: r.choice(["la contraseña es {}", "Contraseña: {}", "le mot de passe est {}", "Mot de passe : {}"]).format(x), pwd), P_EN, "prose")
S("prose_japanese_password", hook(lambda r, x: r.choice(["パスワードは{}です", "パスワード：{}"]).format(x), upwd), P_EN, "prose")
S("prose_wifi_password", hook(lambda r, x: r.choice(["wifi pw: {}", "Guest Wi-Fi key is {}", "the pwd is {}"]).format(x), pwd), P_EN, "prose")
P_ZH = ("chinese", "tool_input", "output")
S("zh_password_is", hook(lambda r, x: r.choice(["密码是{}", "数据库密码是{}", "密码为{}", "登录密码是 {}"]).format(x), upwd), P_ZH, "zh")
S("zh_passphrase_colon", hook(lambda r, x: r.choice(["口令：{}", "口令:{}", "登录口令是{}", "解压口令：{}"]).format(x), upwd), P_ZH, "zh")
S("zh_secret_key", hook(lambda r, x: r.choice(["密钥{}", "密钥：{}", "密钥是{}", "私钥为{}"]).format(x), lambda r: s(r, A62, 24, 40)), P_ZH, "zh")
S("zh_account_password_pair", hook(lambda r, x: r.choice(["账号{u}，密码{p}", "用户名：{u} 密码：{p}", "账号密码是{u}/{p}"]).format(u=user(r), p=x), upwd), P_ZH, "zh")
S("zh_token_word", hook(lambda r, x: r.choice(["访问令牌：{}", "令牌是{}", "token是{}", "授权码为{}"]).format(x), lambda r: s(r, A62, 32)), P_ZH, "zh")
S("zh_traditional_password", hook(lambda r, x: r.choice(["密碼是{}", "密碼：{}", "金鑰是{}"]).format(x), upwd), P_ZH, "zh")
N("gmail_app_password", lambda r: " ".join(s(r, LOW, 4) for _ in range(4)), "GMAIL_APP_PASSWORD", "Gmail app password", "Gmail应用专用密码", "password", ("path", "url", "query"))
N("apple_app_specific_password", lambda r: "-".join(s(r, LOW, 4) for _ in range(4)), "APPLE_APP_SPECIFIC_PASSWORD", "app-specific password", "苹果专用密码", "password", ("path",))
N("env_plain_password", upwd, "DB_PASSWORD", "database password", "数据库密码", "password")
N("env_unusual_password_name", upwd, "REDIS_PASSWD", "redis passwd", "redis口令", "passwd")
N("env_hmac_hex_key", lambda r: s(r, HEX, 64), "SESSION_HMAC_SECRET", "session HMAC secret", "会话签名密钥", "hmac_secret")
N("env_encryption_key", lambda r: b64(by(r, 32)), "DATA_ENCRYPTION_KEY", "data encryption key", "数据加密密钥", "encryption_key", LONG)

# A fixed random half, blind to difficulty.
ASIDE = frozenset(random.Random("aside-2026").sample(sorted(KINDS), len(KINDS) // 2))


def pieces(secret: str) -> list[str]:
    """The runs of a secret none of which may survive: a multi-line secret by line."""
    return [p for p in re.split(r"\s*(?:\\+n|\\?\n|\\\\)\s*", secret) if len(p) >= 4] or [secret]


# ---------------------------------------------------------------- ordinary text and carriers
# `sentences` of ordinary text by language; `carriers`, texts and tool inputs around a secret; and the carriers of each
# form in each place. In a carrier {s} stands for the token, the named value, or the snippet; <EN>/<ZH>/<LOG> for 500-900
# characters of ordinary text, <en>/<zh>/<log> for 60-200.
AROUND = json.loads(Path(__file__).with_name("secret_carriers.json").read_text("utf-8"))


def log_line(r):
    t = f"2026-0{r.randint(1, 9)}-{r.randint(10, 28)} {r.randint(10, 23)}:{r.randint(10, 59)}:{r.randint(10, 59)}"
    return r.choice([
        f"{t} INFO  worker-{r.randint(1, 9)} processed batch {r.randint(100, 9999)} in {r.randint(5, 900)} ms",
        f"{t} DEBUG scheduler: next run in {r.randint(5, 300)} s",
        f"src/components/Table.tsx:{r.randint(1, 400)}:{r.randint(1, 80)} - warning: unused variable 'row'",
        f"ok {r.randint(1, 300)} - renders the empty state ({r.randint(1, 40)} ms)",
        f"-rw-r--r-- 1 dev dev {r.randint(100, 90000)} Mar {r.randint(1, 28)} 09:1{r.randint(0, 9)} {r.choice(WORDS)}.py",
        f"tests/test_{r.choice(WORDS)}.py::test_{r.choice(WORDS)}_roundtrip PASSED [{r.randint(1, 99)}%]",
        f"[{r.randint(1, 40)}/40] Building CXX object src/CMakeFiles/core.dir/{r.choice(WORDS)}.cc.o",
        f"Step {r.randint(1, 14)}/14 : COPY {r.choice(WORDS)} /app/{r.choice(WORDS)}",
        f"   Compiling {r.choice(WORDS)} v0.{r.randint(1, 20)}.{r.randint(0, 9)}",
        f" M lib/{r.choice(WORDS)}/{r.choice(WORDS)}.rb",
    ])


def fill(r, kind, least):
    """At least `least` characters of ordinary text."""
    out, sep = [], {"en": " ", "zh": "", "log": "\n"}[kind]
    while len(sep.join(out)) < least:
        out.append(log_line(r) if kind == "log" else r.choice(AROUND["sentences"][kind]))
    return sep.join(out)


def expand(r, text):
    """Replaces the fillers of a carrier."""
    def one(m):
        k = m.group(1)
        if k in ("EN", "ZH", "LOG"):
            return fill(r, k.lower(), r.randint(520, 900))
        if k in ("en", "zh", "log"):
            return fill(r, k, r.randint(40, 180))
        if k == "PATHS":
            return "\n".join(f"/srv/app/{r.choice(WORDS)}/{r.choice(WORDS)}/{r.choice(WORDS)}_{r.randint(1, 99)}.{r.choice(['py', 'ts', 'go'])}" for _ in range(16))
        if k == "ENVS":
            names = r.sample(["HOME=/home/dev", "LANG=en_US.UTF-8", "SHELL=/bin/zsh", "EDITOR=vim", "PWD=/srv/app", "NODE_ENV=production", "PORT=3000",
                              "TZ=Europe/Berlin", "LOG_LEVEL=debug", "CI=true", "PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "GOFLAGS=-mod=vendor",
                              "PYTHONUNBUFFERED=1", "HTTP_PORT=8080", "WORKERS=4", "REGION=eu-west-1", "DEBUG=0", "LESS=-R", "USER=dev"], r.randint(8, 18))
            return "\n".join(names + [f"FEATURE_{r.choice(WORDS).upper()}_{i}=enabled" for i in range(16)])
        if k == "UTM":
            return "&".join(f"{a}={r.choice(WORDS)}-{r.choice(WORDS)}" for a in ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"]) + "".join(f"&f{i}={r.choice(WORDS)}+{r.choice(WORDS)}" for i in range(24))
        if k == "ALT":
            return "|".join(r.choice(WORDS) + "_" + r.choice(WORDS) for _ in range(r.choice([3, 42])))
    return re.sub(r"<(EN|ZH|LOG|en|zh|log|PATHS|ENVS|UTM|ALT)>", one, text)


def carriers(kind, place):
    """The carriers of a kind in a place."""
    form = kind.form if kind.mode == "snippet" else kind.mode
    return AROUND["carriers"][AROUND["forms"][form][place]]


def put(r, kind, place, carrier, text, secret):
    """Fills a carrier; returns (whole text, secret part as it occurs there)."""
    value = secret if kind.mode == "named" else text
    esc = lambda v: json.dumps(v, ensure_ascii=False)[1:-1]
    env, low = kind.env or "", (kind.env or "").lower()
    if place == "url" and kind.mode != "snippet" and "%" not in value:
        value = secret = quote(value, safe=":$!*" if kind.mode == "token" else "!*")

    def string(t):
        quoted = value if re.fullmatch(r"[\w./:@%+=-]+", value) else "'" + value + "'"
        t = expand(r, t)
        for a, b in (("{env}", env), ("{low}", low), ("{noun}", kind.noun or ""), ("{zh}", kind.zh or ""), ("{param}", kind.param or ""),
                     ("{J}", esc(value)), ("{q}", quoted), ("{s}", value)):
            t = t.replace(a, b)
        return t

    def walk(v):
        if isinstance(v, str):
            return string(v)
        if isinstance(v, dict):
            return {string(k): walk(x) for k, x in v.items()}
        return [walk(x) for x in v] if isinstance(v, list) else v

    if place == "tool_input":
        return json.dumps(walk(carrier), ensure_ascii=False), esc(secret)
    return string(carrier), esc(secret) if "{J}" in carrier else secret


def occurrences(seed: int, repeat: int = 1) -> "Iterator[tuple[str, str, str, str]]":
    """Yields (kind, place, whole text, secret part), the same for the same seed."""
    for name, kind in KINDS.items():
        for place in PLACES:
            if place not in kind.places:
                continue
            pool = carriers(kind, place)
            r = random.Random(f"{seed}/{name}/{place}")
            for carrier in (r.sample(pool, repeat) if repeat <= len(pool) else r.choices(pool, k=repeat)):
                text, secret = kind.make(r)
                yield (name, place, *put(r, kind, place, carrier, text, secret))
