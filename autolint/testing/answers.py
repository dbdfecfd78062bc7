"""The words in which linter and torch answer `reveal`."""

import re
from dataclasses import dataclass

# The last word of each field is the one that leaves it open.
_VOCABULARY = (
    ("tensor", "maybe-tensor"),
    ("grad", "no-grad", "maybe-grad"),
    ("leaf", "non-leaf", "maybe-leaf"),
    ("float", "int", "bool", "complex", "any"),
)


@dataclass(frozen=True)
class Answer:
    """What is said of a revealed value; for `other` all fields but the first are empty."""

    tensor: str
    grad: str = ""
    leaf: str = ""
    kind: str = ""
    rank: int | None = None
    inference: bool = False
    grad_is_none: bool = False

    @staticmethod
    def parse(text: str) -> "Answer":
        """Read `tensor grad leaf float rank=1`.

        Raises ValueError on an unknown, missing or misplaced word.
        """
        words = text.split()
        if words == ["other"]:
            return Answer("other")
        if len(words) < len(_VOCABULARY):
            raise ValueError(f"{text!r} lacks a field: tensor, grad, leaf and dtype are needed")
        for word, allowed in zip(words, _VOCABULARY, strict=False):
            if word not in allowed:
                raise ValueError(f"{word!r} is none of {', '.join(allowed)}")
        rank: int | None = None
        rest = words[len(_VOCABULARY) :]
        if rest and re.fullmatch(r"rank=\d+", rest[0]):
            rank = int(rest.pop(0)[len("rank=") :])
        flags = [flag for flag in ("inference", "grad-is-none") if flag in rest]
        if rest != flags:
            raise ValueError(f"{' '.join(rest)!r} is not [rank=N] [inference] [grad-is-none]")
        tensor, grad, leaf, kind = words[: len(_VOCABULARY)]
        return Answer(tensor, grad, leaf, kind, rank, "inference" in flags, "grad-is-none" in flags)

    def __str__(self) -> str:
        words = [self.tensor, self.grad, self.leaf, self.kind]
        words += [f"rank={self.rank}"] if self.rank is not None else []
        words += ["inference"] if self.inference else []
        words += ["grad-is-none"] if self.grad_is_none else []
        return " ".join(word for word in words if word)

    @property
    def is_definite(self) -> bool:
        """Whether no field leaves a question open (rank and flags are extra)."""
        return not any(word == "any" or word.startswith("maybe-") for word in self._required())

    def join(self, other: "Answer") -> "Answer":
        """What is still said when both answers were given; differing fields become open."""
        if self == other:
            return self
        if "other" in (self.tensor, other.tensor):
            return Answer("maybe-tensor", "maybe-grad", "maybe-leaf", "any")
        pairs = zip(self._required(), other._required(), _VOCABULARY, strict=True)
        tensor, grad, leaf, kind = (
            mine if mine == theirs else allowed[-1] for mine, theirs, allowed in pairs
        )
        return Answer(
            tensor,
            grad,
            leaf,
            kind,
            rank=self.rank if self.rank == other.rank else None,
            inference=self.inference and other.inference,
            grad_is_none=self.grad_is_none and other.grad_is_none,
        )

    def _required(self) -> tuple[str, str, str, str]:
        return self.tensor, self.grad, self.leaf, self.kind
