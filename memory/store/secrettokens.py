"""Tokens with a form of their own: vendors' prefixes and marks, each with the expression of the
rest.

Rows come from the rules of gitleaks (cmd/generate/config/rules) and trufflehog (pkg/detectors)
unless they name another source.  `UNKNOWN` finds other tokens: a short word, `_` or `-`, and at
least 32 random characters.
"""

from __future__ import annotations

# The rest has letters of both cases, unlike digests, UUIDs and identifiers in base 36.
MIXED = r"(?=[\w\-]{0,60}?[a-z])(?=[\w\-]{0,60}?[A-Z])"
# Kind and literal prefixes; the rest.  Its class runs to the token's end: a bounded count would
# leave the tail in clear.
TOKENS: tuple[tuple[str, str], ...] = (
    ("anthropic-key sk-ant-", r"[\w\-]{16,}"),
    ("openai-key sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf-", r"[\w\-]{20,}"),
    ("github-token ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    (
        "gitlab-token glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- "
        "glffct- GR1348941",
        r"[\w\-]{16,}(?:\.\w{2,}){0,3}",
    ),
    ("slack-token xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xapp-", r"[\w\-%+/=]{10,}"),
    (
        "webhook-url hooks.slack.com/services/ hooks.slack.com/workflows/ "
        "hooks.slack.com/triggers/ "
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/ .webhook.office.com/webhookb2/ "
        "hooks.zapier.com/hooks/catch/ chat.googleapis.com/v1/spaces/",
        r"[\w\-/+@.?=&%]{16,}",
    ),
    (
        "stripe-key sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_",
        r"[A-Za-z0-9+/=]{10,}",
    ),
    ("google-key AIza GOCSPX- ya29. 1//0", r"[\w\-.]{20,}"),
    ("aws-key ABSK bedrock-api-key- amzn.mws. amzn1.oa2-cs.v1.", r"[\w+/=\-]{30,}"),
    ("registry-token npm_ rubygems_ CLOJARS_", r"[A-Za-z0-9]{30,}"),
    ("registry-token oy2", r"[a-z0-9]{43}(?!\w)"),
    ("registry-token cio", MIXED + r"[A-Za-z0-9]{32}(?!\w)"),
    ("registry-token pypi-Ag", r"[\w\-]{30,}"),
    ("docker-token dckr_pat_ dckr_oat_", r"[\w\-]{16,}"),
    ("huggingface-token hf_ api_org_", r"[A-Za-z0-9]{24,}"),
    ("sendgrid-key SG.", r"[\w\-]{12,}\.[\w\-]{12,}"),
    ("digitalocean-token doo_v1_ dop_v1_ dor_v1_", r"[A-Fa-f0-9]{32,}"),
    ("databricks-token dapi dose", r"[a-f0-9]{32,}(?:-\d)?"),
    ("shopify-token shpat_ shpca_ shppa_ shpss_ shptka_", r"[A-Za-z0-9]{20,}"),
    ("square-token sq0atp- sq0csp- sq0idp-", r"[\w\-]{20,}"),
    ("meta-token EAA", MIXED + r"[\w\-]{50,}"),
    ("twilio-key SK", r"[0-9a-fA-F]{32}(?![\w])"),
    ("mailgun-key key- pubkey-", r"[A-Za-z0-9]{32}(?![\w])"),
    ("mail-key xkeysib- xsmtpsib-", r"[a-f0-9]{32,}-\w{8,}"),
    (
        "aws-key AKIA ASIA ABIA ACCA AROA AIDA AGPA AIPA ANPA ANVA A3T",
        r"[A-Z0-9]{16,17}(?![A-Za-z0-9])",
    ),
    ("cloud-key LTAI AKID EZAK EZTK AKCp cmVmd HRKU- AQVN", r"[\w\-]{16,}"),
    ("cloud-key 4b1d", MIXED + r"[A-Za-z0-9]{38}(?!\w)"),
    ("vault-token hvs. hvb. hvr.", r"[\w\-]{20,}"),
    ("vault-token s.", r"[A-Za-z0-9]{24}(?![\w.])"),
    ("atlassian-token ATATT3 ATCTT3 ATBB", r"[\w\-=.]{20,}"),
    ("grafana-token glc_ glsa_ eyJrIjoi", r"[\w+/=]{24,}"),
    ("linear-key lin_api_ lin_oauth_", r"\w{24,}"),
    ("notion-token ntn_ secret_", r"[A-Za-z0-9]{40,}"),
    ("airtable-token pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{40,}"),
    ("harness-token pat. sat.", r"[\w\-]{20,}\.\w{20,}\.\w{16,}"),
    ("discord-token mfa.", r"[\w\-]{60,}"),
    ("doppler-token dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.]{20,}"),
    ("dynatrace-token dt0c01. dt0s01. dt0s16.", r"\w{20,}\.\w{20,}"),
    ("octopus-key API-", r"[A-Z0-9]{25,}(?!\w)"),
    ("launchdarkly-key sdk- mob- api-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("hubspot-key pat-na1- pat-na2- pat-eu1-", r"[0-9a-f\-]{30,}"),
    ("plaid-token access-sandbox- access-development- access-production-", r"[0-9a-f\-]{30,}"),
    ("mapbox-token sk.eyJ tk.eyJ", r"[\w\-]{20,}\.[\w\-]{10,}"),
    ("yandex-token t1.", r"[\w\-=]{38,}(?:\.[\w\-=]{40,})?"),
    ("yandex-token YC", MIXED + r"[\w\-=]{38,}"),
    ("onepassword-key ops_eyJ", r"[\w+/=\-]{30,}"),
    ("onepassword-key A3-", r"(?:[A-Z0-9]{5,11}-){4,5}[A-Z0-9]{5}(?!\w)"),
    ("age-key AGE-SECRET-KEY- AGE-PLUGIN-", r"[A-Z0-9\-]{30,}"),
    ("cloudflare-key v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("openshift-token sha256~", r"[\w\-]{40,}"),
    ("twitter-token AAAAAAAAAAAAAAAAAAAAA", r"[\w%]{60,}"),
    (
        "api-token dnkey- duffel_live_ duffel_test_ FLWSECK_TEST- FLWSECK- fio-u- fo1_ fm1r_ fm1a_ "
        "fm2_ ico- "
        "rdme_ pnu_ pplx- gsk_ xai- r8_ tgp_v1_ csk- pcsk_ lsv2_pt_ lsv2_sk_ tskey- p8e- CFPAT- "
        "s-s4t2 shippo_live_ shippo_test_ sgp_ slk_ tfp_ aio_ AVNS_ AVNU_ figd_ figp_ sbp_ "
        "sb_secret_ nfp_ napi_ snyk_ bkua_ CCIPAT_ CCIPRJ_ ddp_ ddw_ PMAK- NRAK- NRII- NRJS- NRRA- "
        "pul- pscale_tkn_ pscale_oauth_ pscale_pw_ sntrys_ sntryu_ squ_ sqp_ sqa_ tk-us- sm_aat_ "
        "sm_pat_ sm_sat_ phx_ phs_ whsk_ key_live_ key_test_ rpa_ e2b_ apify_api_ ctx7sk- dtn_ "
        "tvly- jina_ nvapi- sdp_ sc_live_ secret-token:",
        r"[\w\-+/=.]{19,}",
    ),
    # https://ai.google.dev/gemini-api/docs/api-key: keys made since 2026 are "authorization keys"
    ("google-key AQ.Ab", r"[\w\-]{24,}"),
    # https://developers.cloudflare.com/fundamentals/api/get-started/token-formats
    ("cloudflare-key cfk_ cfut_ cfat_", r"[A-Za-z0-9]{32,}"),
    # https://vercel.com/changelog/new-token-formats-and-secret-scanning
    ("vercel-token vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", r"[A-Za-z0-9_\-]{20,}"),
    # https://cursor.com/docs/account/teams/admin-api: `crsr_` and 64 hexadecimal digits
    ("cursor-key crsr_", r"[A-Za-z0-9_\-]{20,}"),
    # trufflehog: elevenlabs/v2, resend; Render and Firecrawl as their own documentation shows them
    ("elevenlabs-key sk_", r"[a-f0-9]{48}(?![A-Za-z0-9])"),
    ("resend-key re_", r"(?=\w{0,60}\d)" + MIXED + r"[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,}"),
    ("render-key rnd_", r"(?=[A-Za-z_]{0,30}\d)[A-Za-z0-9]{20,}"),
    ("firecrawl-key fc-", r"[a-f0-9]{32}(?![\w\-])"),
    # https://developer.clickup.com/docs/authentication; trufflehog: clickuppersonaltoken
    ("clickup-token pk_", r"\d{4,12}_[A-Z0-9]{28,}"),
    # https://docs.datadoghq.com/account_management/personal-access-tokens
    ("datadog-token ddpat_ ddsat_ ddapp_", r"[\w\-]{24,}"),
    # https://docs.wandb.ai, https://polar.sh/docs, https://developer.paddle.com,
    # https://documentation.onesignal.com
    (
        "api-token wandb_v1_ polar_oat_ polar_pat_ polar_at_ pdl_live_apikey_ pdl_sdbx_apikey_ "
        "os_v2_app_ "
        "os_v2_org_ mdb_sa_sk_ n8n_api_ ory_pat_ ory_at_ ory_rt_ bb_live_ cal_live_ tr_dev_ "
        "tr_prod_ tr_stg_ tr_pat_ fal_sk_ sgamp_ bkct_ bkaa_ depot_ retool_ unkey_ composio_ "
        "nango_ hcaik_ hcxik_ persona_production_",
        r"[\w\-]{20,}",
    ),
    # gitleaks: infisical, mailersend …; trufflehog: axiom, netbird, jsr; https://docs.getdbt.com,
    # https://xata.io/docs
    (
        "api-token xaat- xapt- nbp_ jsrp_ jsrt_ dbtc_ xau_ glrtr- sess- ovsxat_ ovsxp_ vtwn_ "
        "sntryi_ rwlt_",
        r"(?=[A-Za-z_\-]{0,40}\d)[\w\-]{20,}",
    ),
    # https://api-docs.inngest.com/authentication
    ("api-token signkey-", r"(?=[\w\-]{0,60}?\d)[\w\-]{32,}"),
    ("api-token mlsn.", r"[a-f0-9]{32,}"),
    ("api-token fw_", r"(?=[A-Za-z]{0,40}\d)" + MIXED + r"[A-Za-z0-9]{22,}(?!\w)"),
    ("api-token pa- al- as- ak-", r"(?=[A-Za-z_\-]{0,60}\d)" + MIXED + r"[\w\-]{22,60}(?![\w\-])"),
    (
        "api-token secret-live- secret-test- secret-",
        r"(?=[A-Za-z_\-]{0,60}\d)" + MIXED + r"[\w\-]{30,}",
    ),
    ("api-token BSA", r"(?=[A-Za-z_\-]{0,40}\d)" + MIXED + r"[\w\-]{24,40}(?![\w\-])"),
    ("atlassian-token ATTA", MIXED + r"[A-Za-z0-9]{48,}"),
    ("docker-token SWMTKN-1- SWMKEY-1-", r"[\w\-]{40,}"),
    ("dropbox-token sl. sl.u.", r"(?=[\w\-]{0,60}\d)" + MIXED + r"[\w\-]{100,}"),
    ("infisical-token st.", r"[a-f0-9]{24}\.[a-f0-9]{32,}"),
    ("openai-key sk-", r"[\w\-]{20,}"),
)
# Kind, most characters of the token before a needle, needles; expression of the whole token.
INNER: tuple[tuple[str, str], ...] = (
    ("jwt 0 ZXlK", r"ZXlK[\w+/]{60,}={0,2}"),
    ("telegram-token 12 :AA", r"(?<!\d)\d{6,12}:AA[\w\-]{30,}"),
    ("azure-secret 4 Q~", r"(?:(?<![\w~.\-+/])|(?<=\\[nrt])|(?<=%3D))[\w~.]{3}\dQ~[\w~.\-]{30,}"),
    ("azure-key 90 AzCa", r"(?<![\w+/])[\w+/]{20,90}AzCa[\w+/]{4,8}={0,2}"),
    ("azure-key 90 +ASt", r"(?<![\w+/])[\w+/]{60,86}\+ASt[\w+/]{4,8}={0,2}"),
    ("azure-key 60 JQQJ99", r"(?<!\w)\w{40,60}JQQJ99\w{20,}"),
    ("openai-key 90 T3BlbkFJ", r"(?<![\w\-])[\w\-]{16,90}T3BlbkFJ[\w\-]{16,}"),
    ("terraform-token 14 .atlasv1.", r"\w{14}\.atlasv1\.[\w\-=]{40,}"),
    (
        "mailchimp-key 32 -us",
        r"(?:(?<![\w~.\-+/])|(?<=\\[nrt])|(?<=%3D))[a-f0-9]{32}-us\d{1,2}(?!\w)",
    ),
    ("maxmind-key 36 _mmk", r"(?<!\w)\w{6}_\w{29}_mmk(?!\w)"),
    (
        "paypal-token 0 access_token$",
        r"access_token\$(?:production|sandbox)\$\w{10,}\$[a-f0-9]{20,}",
    ),
    (
        "password-hash 0 $2a$ $2b$ $2x$ $2y$ $5$ $6$ $y$ $7$ $apr1$ $argon2 $scrypt$ $pbkdf2-",
        r"\$(?:2[abxy]|5|6|y|7|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-\w+)\$[\w./+=,$\-]{20,}",
    ),
)
# A key with any other prefix: a word or two, then random letters and digits of both cases.
UNKNOWN = r"(?P<p>[a-z][a-z0-9]{1,11}(?:[_\-][a-z0-9]{1,10}){0,2}[_\-])(?P<b>[A-Za-z0-9]{32,200})"
# Such prefixes of no keys: identifiers of services' records and requests.
COUNTERS = frozenset(
    "toolu msg req call run thread asst file evt cus price prod sub pi ch in ii cs seti pm card "
    "acct re dp txn po il chatcmpl cmpl resp rs fc ws srvtoolu container batch ftjob org proj user "
    "usr team sess session trace span hash sha sha1 sha256 sha512 md5 id uid uuid etag chunk "
    "vendors index main app assets build cache".split()
)
# Kinds with a form that no other text has.
SURE = {words.split()[0] for words, _ in (*TOKENS, *INNER)}
SURE |= {"jwt", "discord-token", "private-key"}
