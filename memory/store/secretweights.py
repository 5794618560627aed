"""What a word near a label tells of being its secret, as `evals/train-secrets` fitted it.

LETTERS: the kinds of signs; "0" a digit, "-" a joint, "#" a sign, "/" another one, "^" an edge.
SURPRISE: of each of them, a row, after which each of them follows, in tenths of a nat from "#" on.
WEIGHTS: of features, and of products of two, in log odds, with BIAS.
"""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyz0-#/^"
SURPRISE = (
    "[HABbZAnDvV8?<mDs:<4JS^SOnMQhIN"
    "7ODL9XfaCCf:V`;Ve>HX<efhF_CC]<O"
    "=cMZ:\\d9Kp;<Il3YkCT:InisUvONiGJ"
    ">YSJ2XQd:m\\MXaBXaPFOKfiaSsM=Z56"
    "F_@ANLOeZuf=J;]LJ88>iQWGVvYBj;<"
    "=^\\[EGbn3ppGM\\;Sq=VKAmcqRrJ4k9K"
    "MeVb0SLI?shESG?`mA=PHbjsE\\V>f;:"
    "5dXa1dkc:lb^RY7ejJMCMgllXl^Eh?:"
    "LPBBEKFkgvb>A28IgB<:jMyQ{OgSnGW"
    "MUVX+[[YY[QaZ];YWY4XCZPZY[LN_=L"
    "F^SU1XMU?b`JXO[6eQ@LM^H]_aS<f<9"
    "=YZE48`l7sjAb`<S{\\AEB`]{I{eEnAA"
    "7IaD0cqs;lbW>d?8sbEOJjdpYj\\JoG?"
    "?b@>>I;fDlZQYRAMp];4KPkn]xaEU?;"
    "PLF@\\XKmFRNC;1DDx7GD?QI]graKqIL"
    "6`YM7YdKDta=f_6Bn9K=FcotFsYDrFK"
    "YcY^_a^_a_b[_ZbSXPMc&^^`^\\GCW>L"
    ":_LP1SJn<vQXKC;Z{BC>IQatI{bHl>B"
    "HaK^2]YJ>yRS\\]GHh^;5Ge^xQxa>b;:"
    "=dPW5Ui=8voVXdCPv<DHDfZcFr\\=i<:"
    "@HJJ9OTkHsp<B9WAq7=:]vshqp;TY]V"
    "2__e-dci7gjdV_C`hbX\\ebochi:Mi?Q"
    "8QTT=W`92e^U_E9a\\<D\\bcQ`ddXG^?C"
    "DQ=W@Qe];eaVS`c9gZR4_\\dTNj:@U7B"
    "R]O[MXWcOjbLFHR4fO?@c\\Pi^ST9_34"
    "=UUV*OZW?WWWTL>VZSUQSXWULODKZBO"
    "MLONPOgfldfh`eebgd^ahfiQji(AW3D"
    "?J=EEECMDWYIBGLA]C>BMJM\\i_B<WA<"
    "GNGLQOLXE^JXONRFQM=ERMHW\\f>I33>"
    "KQFPLNUURbaSRKVOeNDIFXXXhpCLP0-"
    "BH=FCANNC_YGEFIDY?9?KMGeciAIM8{"
)
BIAS = -13.76
WEIGHTS = {
    "strong": 5.78,
    "weak": -2.25,
    "login": 0.64,
    "gap": -0.73,
    "before": -0.83,
    "alone": 4.68,
    "few": -0.54,
    "quoted": -1.22,
    "link": -1.56,
    "other": -2.94,
    "length": 0.86,
    "short": -4.85,
    "long": -3.09,
    "digits": 7.59,
    "signs": -2.12,
    "joints": -1.14,
    "others": -0.79,
    "changes": -8.44,
    "camel": -4.09,
    "kinds": 4.79,
    "number": 10.98,
    "surprise": 1.42,
    "composed": -2.44,
    "identifier": -1.51,
    "counted": -0.81,
    "snake": -5.93,
    "farther": -1.89,
    "no digit": -0.24,
    "most surprise": 0.62,
    "four kinds": 1.67,
    "digit inside": -0.26,
    "digit last": 0.53,
    "next line": -0.55,
    "second line": -0.44,
    "label's code": -0.54,
    "label's words": 2.01,
    "surprise*alone": -1.98,
    "surprise*long": 1.98,
    "surprise*code": 0.39,
    "signs*strong": -2.29,
    "random*strong": 3.6,
    "random*weak": 1.45,
    "code*quoted": 0.82,
    "joints*kinds": 0.32,
    "joints*link": 1.18,
    "login*surprise": 1.37,
    "login*link": 4.53,
    "four kinds*strong": 3.54,
    "next line*alone": 1.45,
    "commit": 0.5,
    "digest": 2.14,
    "long random": -1.66,
    "long random*medium": 7.56,
    "long random*weak": 0.11,
    "hex*strong": -4.05,
    "hex*medium": 6.29,
    "medium*surprise": 1.24,
    "weak*surprise": 2.77,
    "phrase": 9.94,
    "phrase*strong": 9.94,
    "own other": -0.46,
    "hex*own other": -3.14,
    "leads": -3.41,
    "hex*few": -1.9,
    "hex*words": 0.88,
    "digest*words": -1.03,
    "identifier*alone": -2.15,
}
