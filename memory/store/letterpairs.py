"""How often one letter follows another in ordinary words, as `evals/train-secrets` counted it.

LETTERS: the kinds of signs; "0" a digit, "-" a joint, "#" a sign, "/" another one, "^" an edge.
SURPRISE: a row for each letter, with the surprise of each next one in tenths of a nat from "#" on.
FITTED: the SHA-256 of the trees fitted with them; new trees invalidate caches.
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
FITTED = "d33386d35d7fe8f84efda478e4c5dc7924b6875ae58dba018fd15e79646c4b6d"
