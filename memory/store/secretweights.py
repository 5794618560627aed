"""What a word near a label tells of being its secret, as `evals/train-secrets` fitted it.

LETTERS: the kinds of signs; "0" a digit, "-" a joint, "#" a sign, "/" another one, "^" an edge.
SURPRISE: of each of them, a row, after which each of them follows, in tenths of a nat from "#" on.
WEIGHTS: of features, and of products of two, in log odds, with BIAS.
"""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyz0-#/^"
SURPRISE = (
    "[G@B^XBlEqT8@<mEu:<4KS]UNmNQgIN"
    "7PEM9WfaACh9T`:Vi?HX<bgjFaDE^=N"
    "=cMY:]e9Hr<=Km3\\kBR9InmrRwONiEJ"
    "=ZTI2YRb:k]NXaCYcOFPIfiaTuL>[65"
    "E]A@NMOcYtg=I;]LK88>ePVFWvXBj;;"
    "<^\\[CFbp3ptFO^;Tr=VJAofrQsJ4l9J"
    "KdUa1RMH?shETF@_p?=QGdmpG]V>e=8"
    "5\\Zb1djg:qb]TR6chJMCLdgtTo\\Eg?:"
    "JOABEJFkgyb>A28IhB<:jK{Q{PhToIX"
    "K]WY+]]^_\\Ta[W8Z]Z5]?]SZY[MOa>M"
    "F`RT1TMW>abKWMW8cQ>LN_I^adR<g<9"
    "<ZXD49`j7ue@ca<T{]AEC`^{G{eEmB@"
    "7G`F0doo<ocU@d>8vaEPIiesYk\\JoH?"
    "?c@>>I;cDlYRYRBNr_;5LNjl]taDV?:"
    "PLF@]XK`GRMB<1DDz7FD?OI[ircLqKL"
    "6aYN7[dJDua=d]7Cp9K=FensEtZErDK"
    "K_[`^b_``ccU_ZgUYPN_&d^`_aGDW?L"
    ":`IO1TJm={QXLD:Y{BB?JQaxI{bHo>A"
    "IiK_3][H>{PT\\]GHcT<5Ge_vQ{^>d:9"
    "<dPX5Vm=8{pSYdCQw=DHEgZaGsY>k=:"
    "@GHJ:PRkGsl<B9X?w7=:\\wxirq<UY]X"
    "2abd-hcg7jieX_Cbjf[]eehi_h;Dl@T"
    "9QVV<W_92jdT^D9a^<EVdbR`egZE^@C"
    "@T>Y@RdZ;ieZU^`:hXT2`_fVNh<@U8A"
    "Q^OWLYXgOpeLEHN5hP?@g]Rh_TU9_33"
    ";[VZ*RYX>ZVXTM>WZTPPV[[VKQEK]AN"
    "NLONPOhejfgjeffcje_\\ihiRjk(@V3C"
    "?J=EFFDMDXYIBHMA^A>BNKNZf_@;WA<"
    "HNIKOQLWE_JVPNSFTM>GSJHW\\g>I34:"
    "LRFNMOTUP_cTRHWOeMCHGYXXipCMQ0."
    "BH>FCANLC^YGDGJCY?:?LMG_`hBJN7{"
)
BIAS = -9.02
WEIGHTS = {
    "strong": 4.73,
    "weak": -0.42,
    "login": -0.63,
    "before": -0.76,
    "alone": 3.12,
    "few": -0.59,
    "quoted": -1.41,
    "sign": -0.49,
    "link": -2.48,
    "other": -2.95,
    "length": 0.4,
    "short": -4.9,
    "long": -2.24,
    "digits": 3.39,
    "capitals": 2.89,
    "signs": -1.4,
    "joints": -0.79,
    "others": -0.58,
    "changes": -10.04,
    "camel": -3.81,
    "kinds": 4.15,
    "hex": 1.07,
    "number": 14.37,
    "surprise": 0.97,
    "composed": -2.2,
    "identifier": -1.25,
    "snake": -7.16,
    "farther": -2.73,
    "no digit": -7.61,
    "four kinds": 0.29,
    "digit inside": -0.43,
    "digit last": 0.53,
    "next line": -0.77,
    "second line": -0.75,
    "label's code": -0.72,
    "label's words": 1.97,
    "surprise*quoted": 0.81,
    "surprise*long": 1.69,
    "surprise*code": 0.22,
    "signs*strong": -2.07,
    "digit inside*strong": 1.18,
    "random*strong": 3.09,
    "random*weak": -0.42,
    "code*quoted": 0.78,
    "joints*link": 1.1,
    "link*kinds": 0.1,
    "login*surprise": 2.86,
    "login*link": 5.99,
    "four kinds*strong": 4.11,
    "next line*alone": 2.84,
    "second line*alone": 2.65,
    "commit": 0.23,
    "digest": 1.2,
    "long random": -0.34,
    "long random*strong": -2.2,
    "long random*medium": 7.53,
    "long random*weak": -0.84,
    "hex*strong": -2.18,
    "hex*medium": 7.99,
    "medium*surprise": 1.44,
    "weak*surprise": 3.52,
    "long random*quoted": 5.56,
    "phrase": 9.52,
    "phrase*strong": 9.52,
    "phrase*gap": 6.19,
    "own other": -0.71,
    "hex*own other": -3.81,
    "leads": -1.78,
    "leads*hex": -3.8,
    "hex*few": -2.3,
    "hex*words": 0.12,
    "farther*alone": 2.04,
    "most surprise*alone": -0.92,
}
