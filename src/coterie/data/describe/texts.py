"""Texts as rows: word weights (TF-IDF) along latent axes, and the words that set clusters apart."""

# n texts, w words, r axes, k clusters

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.errors import InputError, counted

Embedding = Callable[[list[str]], Any] | str | None
_MOST_WORDS = 20_000
_FEW_TEXTS = 50
_TOKEN = r"(?u)\b[^\W\d_][^\W_]+\b"  # words of two characters or more that begin with a letter


class TextRows(Description):
    r"""Texts as rows of numbers: word weights along the axes of latent semantic analysis, each row of unit length.

    The weight of word w in a text is :math:`(1 + \log f_w) \, (1 + \log \frac{1 + n}{1 + n_w})`, where f is how often
    the text has it and n_w how many of n texts do. Rows of weights of unit length are projected to `n_axes` singular
    vectors and brought to unit length again, so that Euclidean distance compares angles.

    Parameters
    ----------
    n_axes : int, default=50
    stop_words : "english", list of str or None, default="english"
        Words that are left out.
    embed : callable or str, optional
        Embeddings instead of word weights: a function from a list of texts to an array of shape (n, d), or the folder
        of a sentence-transformers model on this machine (nothing is downloaded). Words are weighed too, for the
        names of clusters. A function cannot be saved.

    Attributes
    ----------
    words_ : list of str
    idf_ : ndarray of shape (w,)
    axes_ : ndarray of shape (w, r)

    Examples
    --------
    >>> texts = ["The cat sat.", "A cat and a dog", "Stocks fell", "Stocks and bonds fell"]
    >>> rows = TextRows(n_axes=2).fit(texts)
    >>> np.round(rows.transform(texts) @ rows.transform(["cat"]).T, 1).ravel() > 0.5
    array([ True,  True, False, False])
    """

    _values: ClassVar[tuple[str, ...]] = ("words_",)
    _arrays: ClassVar[tuple[str, ...]] = ("idf_", "axes_")

    def __init__(self, n_axes: int = 50, *, stop_words: Any = "english", embed: Embedding = None) -> None:
        self.n_axes = n_axes
        self.stop_words = stop_words
        self.embed = embed

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Learn the words, their weights and the axes."""
        texts = checked_texts(X)
        # A word of one text tells nothing of two; in a few texts, hardly any word is in two.
        vectorizer = self._vectorizer(min_df=2 if len(texts) >= _FEW_TEXTS else 1, max_features=_MOST_WORDS)
        try:
            weights = vectorizer.fit_transform(texts)
        except ValueError as error:
            raise InputError(
                "The texts have no words in common that could be weighed: give longer texts, or stop_words=None."
            ) from error
        self.words_ = vectorizer.get_feature_names_out().tolist()
        self.idf_ = vectorizer.idf_.astype(np.float64)
        size = min(self.n_axes, min(weights.shape) - 1)
        if size < 1 or self.embed is not None:
            self.axes_ = np.zeros((len(self.words_), 0), dtype=np.float32)
        else:
            self.axes_ = np.ascontiguousarray(
                TruncatedSVD(size, random_state=0).fit(weights).components_.T, dtype=np.float32
            )
        return self

    def transform(self, X: Iterable[str]) -> np.ndarray:
        """Return texts as rows, (n, r), of unit length; zeros for a text without a known word."""
        check_is_fitted(self)
        texts = checked_texts(X)
        if self.embed is not None:
            return _unit(_embedded(self.embed, texts))
        weights = self.weights(texts)
        return _unit(weights @ self.axes_ if self.axes_.shape[1] else weights.toarray())

    def weights(self, X: Iterable[str]) -> sparse.csr_matrix:
        """Return the word weights of texts, (n, w), sparse."""
        check_is_fitted(self)
        vectorizer = self._vectorizer(vocabulary=self.words_)
        vectorizer.idf_ = self.idf_
        return sparse.csr_matrix(vectorizer.transform(checked_texts(X)))

    def _vectorizer(self, **options: Any) -> TfidfVectorizer:
        return TfidfVectorizer(
            sublinear_tf=True, stop_words=self.stop_words, token_pattern=_TOKEN, strip_accents=None, **options
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the axes: the three words that count most along each."""
        if not self.axes_.shape[1]:
            return np.array(self.words_, dtype=object)
        strongest = np.argsort(-np.abs(self.axes_), axis=0, kind="stable")[:3].T
        return np.array(
            [f"{j + 1} " + " ".join(self.words_[w] for w in own) for j, own in enumerate(strongest)],
            dtype=object,
        )

    @property
    def settings(self) -> dict[str, str]:
        """Rows of unit length are compared as they are."""
        return {"metric": "euclidean", "scale": "none"}

    @property
    def sentence(self) -> str:
        """What was done to the texts."""
        if self.embed is not None:
            return "texts were embedded, and compared by angle"
        words = counted(len(self.words_), "word")
        return f"{words} were weighed (TF-IDF) and projected to {self.axes_.shape[1]} axes, compared by angle"

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the parameters and all that was learned; a function cannot be among them."""
        if callable(self.embed):
            raise InputError("embed= is a function, which cannot be saved: give the folder of a model.")
        return super().state()

    def cluster_terms(self, X: Iterable[str], labels: Any, n_terms: int = 4) -> dict[int, list[str]]:
        """Return the words that set each cluster of texts apart; see `top_terms`."""
        return top_terms(self.weights(X), self.words_, labels, n_terms)


def top_terms(weights: Any, words: Sequence[str], labels: Any, n_terms: int = 4) -> dict[int, list[str]]:
    """Return for each cluster the words whose mean weight is farthest above that in the other clusters.

    Parameters
    ----------
    weights : sparse matrix or ndarray of shape (n, w)
    words : sequence of str
    labels : array-like of shape (n,)
        -1 is no cluster.
    n_terms : int

    Examples
    --------
    >>> top_terms(np.array([[2, 0, 1], [2, 0, 1], [0, 3, 1]]), ["cat", "bond", "the"], [0, 0, 1], 2)
    {0: ['cat'], 1: ['bond']}
    """
    labels, table = np.asarray(labels), sparse.csr_matrix(weights)
    clusters = np.unique(labels[labels >= 0])
    sums = np.vstack([np.asarray(table[labels == c].sum(axis=0)).ravel() for c in clusters])
    sizes = np.array([(labels == c).sum() for c in clusters])[:, None]
    rest = (sums.sum(axis=0) - sums) / np.maximum(sizes.sum() - sizes, 1)
    above = sums / sizes - rest
    best = np.argsort(-above, axis=1, kind="stable")[:, :n_terms]
    return {
        int(c): [str(words[j]) for j in own if line[j] > 1e-12]
        for c, own, line in zip(clusters, best, above, strict=True)
    }


def checked_texts(X: Any, where: str = "Text") -> list[str]:
    """Return texts as a list of strings; the first that is none is named by its row.

    Examples
    --------
    >>> checked_texts(["a", 3.5])
    Traceback (most recent call last):
    coterie.errors.InputError: Text 1 is a float (3.5), not a text: ...
    """
    if isinstance(X, str):
        raise InputError("X is one text, but a list of texts is needed: [text].")
    texts = list(np.ravel(X)) if hasattr(X, "shape") else list(X)
    if hasattr(X, "shape") and np.size(X) != np.shape(X)[0]:
        raise InputError(f"X has shape {np.shape(X)}, but texts are one column: choose the column of texts.")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            shown = "empty" if text is None or text != text else f"a {type(text).__name__} ({text})"
            raise InputError(
                f"{where} {row} is {shown}, not a text: write what there is to read, or leave the row out."
            )
    if not texts:
        raise InputError("There is no text: give at least two.")
    empty = sum(not text.strip() for text in texts)
    if empty:
        first = next(row for row, text in enumerate(texts) if not text.strip())
        warnings.warn(
            f"{counted(empty, 'text is', 'texts are')} empty (first: row {first}), and near no other.",
            UserWarning,
            stacklevel=3,
        )
    return [str(text) for text in texts]


def _embedded(embed: Callable[[list[str]], Any] | str, texts: list[str]) -> np.ndarray:
    if isinstance(embed, str):
        embed = _local_model(embed)
    rows = np.asarray(embed(texts), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise InputError(
            f"embed= returned an array of shape {rows.shape} for {counted(len(texts), 'text')}: it must have one row "
            "a text."
        )
    return rows


def _local_model(folder: str) -> Callable[[list[str]], Any]:
    """Return the sentence-transformers model of a folder; names of models elsewhere are refused."""
    if not os.path.isdir(folder):
        raise InputError(
            f"embed={folder!r} is no folder: give that of a sentence-transformers model on this machine; coterie "
            "downloads none."
        )
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError("embed= with a folder needs sentence-transformers, or give a function.") from None
    return SentenceTransformer(folder, local_files_only=True).encode


def _unit(rows: np.ndarray) -> np.ndarray:
    return normalize(np.asarray(rows, dtype=np.float32))
