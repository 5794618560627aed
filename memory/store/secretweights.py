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
BIAS = -10.68
WEIGHTS = {
    "strong": 4.69,
    "weak": -1.94,
    "login": -0.58,
    "gap": -0.56,
    "alone": 3.84,
    "few": -0.59,
    "quoted": -1.32,
    "sign": -0.39,
    "link": -2.29,
    "code": -0.21,
    "other": -2.75,
    "length": 0.41,
    "short": -3.78,
    "long": -2.38,
    "digits": 3.99,
    "capitals": 2.85,
    "signs": -1.83,
    "joints": -0.97,
    "others": -0.88,
    "changes": -9.73,
    "camel": -4.5,
    "kinds": 4.77,
    "hex": 0.94,
    "number": 9.87,
    "surprise": 0.77,
    "wordy": -0.58,
    "composed": -2.93,
    "identifier": -1.78,
    "counted": -1.53,
    "snake": -6.09,
    "farther": -2.03,
    "no digit": -6.13,
    "most surprise": 0.52,
    "four kinds": 0.74,
    "digit inside": -0.41,
    "digit last": 0.65,
    "no word": 0.39,
    "second line": -0.35,
    "label's code": -0.57,
    "label's words": 1.74,
    "surprise*quoted": 0.9,
    "surprise*long": 1.86,
    "surprise*code": 0.3,
    "signs*strong": -1.95,
    "digit inside*strong": 1.02,
    "random*strong": 2.79,
    "random*alone": 0.87,
    "code*quoted": 0.86,
    "joints*kinds": 0.16,
    "joints*link": 1.18,
    "link*kinds": 0.19,
    "login*surprise": 2.15,
    "login*link": 5.93,
    "four kinds*strong": 3.23,
    "counted*quoted": -1.86,
    "next line*alone": 1.16,
    "second line*alone": 0.99,
    "commit": 1.39,
    "digest": 2.19,
    "long random*strong": -2.84,
    "long random*medium": 6.61,
    "long random*weak": -1.01,
    "hex*strong": -3.21,
    "hex*medium": 6.37,
    "medium*surprise": 1.11,
    "weak*surprise": 3.47,
    "long random*quoted": 6.41,
    "phrase": 9.9,
    "phrase*strong": 9.9,
    "phrase*gap": 6.31,
    "own other": -0.85,
    "hex*own other": -3.55,
    "leads": -2.1,
    "leads*hex": -4.44,
    "hex*few": -2.16,
    "hex*words": 1.86,
    "commit*words": -1.59,
    "digest*words": -1.73,
    "most surprise*alone": -1.28,
}
