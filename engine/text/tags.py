"""How the model families mark thinking and tool calls in their output."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from engine.contracts import Part


@dataclass(frozen=True, slots=True)
class TagPair:
    """One way to enclose a part. `closing` None: the part lasts to the end. `label` follows the opening as markup."""

    part: Part
    opening: str
    closing: str | None
    label: str = ""


@dataclass(frozen=True, slots=True)
class HeaderSyntax:
    """Messages that name their part in a header, which `begins` tokens open and `ends` closes.

    `parts` maps the first word of the header's last line to its part; a header that addresses a tool (` to=`) is a
    call. Each token that begins a header again begins a line of it.
    """

    begins: frozenset[str]
    ends: str
    parts: Mapping[str, Part]

    def part_of(self, header: str) -> Part:
        if " to=" in header:
            return Part.TOOL_CALL
        words = header.rpartition("\n")[2].split()
        return self.parts.get(words[0], Part.ANSWER) if words else Part.ANSWER


def _thinking(opening: str, closing: str, label: str = "") -> TagPair:
    return TagPair(Part.THINKING, opening, closing, label)


def _tool(opening: str, closing: str | None) -> TagPair:
    return TagPair(Part.TOOL_CALL, opening, closing)


PAIRS: Final = (
    _thinking("<think>", "</think>"),  # DeepSeek, Qwen, GLM, Phi reasoning, SmolLM3 and most others
    _thinking("<thinking>", "</thinking>"),
    _thinking("<thought>", "</thought>"),  # EXAONE
    _thinking("<reasoning>", "</reasoning>"),
    _thinking("[THINK]", "[/THINK]"),  # Magistral
    _thinking("<seed:think>", "</seed:think>"),  # Seed-OSS
    _thinking("<longcat_think>", "</longcat_think>"),
    _thinking("<|START_THINKING|>", "<|END_THINKING|>"),  # Command
    _thinking("<|begin_of_thought|>", "<|end_of_thought|>"),
    _thinking("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    _thinking("<|think:start|>", "<|think:end|>"),
    _thinking("\u25c1think\u25b7", "\u25c1/think\u25b7"),  # Kimi
    _thinking("<|channel>", "<channel|>", label="thought"),
    _tool("<tool_call>", "</tool_call>"),  # Hermes, Qwen, GLM
    _tool("<|tool_call|>", "<|/tool_call|>"),
    _tool("<|tool_call>", "<tool_call|>"),
    _tool("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),  # Kimi
    _tool("<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>"),  # DeepSeek
    _tool("<|START_ACTION|>", "<|END_ACTION|>"),  # Command
    _tool("<seed:tool_call>", "</seed:tool_call>"),
    _tool("<minimax:tool_call>", "</minimax:tool_call>"),
    _tool("[TOOL_CALLS]", None),  # Mistral
    _tool("<|python_tag|>", None),  # Llama
)

MARKUP_TOKENS: Final = frozenset({"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|constrain|>"})
"""Tokens that enclose an answer or annotate a header: never shown, and no change of part."""

HEADERS: Final = (
    HeaderSyntax(  # gpt-oss (harmony)
        frozenset({"<|start|>", "<|channel|>"}),
        "<|message|>",
        {"analysis": Part.THINKING, "final": Part.ANSWER, "commentary": Part.ANSWER},
    ),
    HeaderSyntax(
        frozenset({"<|open|>"}), "<|sep|>", {"think": Part.THINKING, "tool": Part.TOOL_CALL, "response": Part.ANSWER}
    ),
    HeaderSyntax(frozenset({"<|close|>"}), "<|sep|>", {}),
)


class MarkKind(enum.Enum):
    """What a token does that is a tag as a whole."""

    OPENS = enum.auto()
    CLOSES = enum.auto()
    BEGINS_HEADER = enum.auto()
    ENDS_HEADER = enum.auto()
    ANNOTATES = enum.auto()


@dataclass(frozen=True, slots=True)
class Mark:
    """A token that is a tag: what it does, for which pair or header."""

    kind: MarkKind
    pair: TagPair | None = None
    header: HeaderSyntax | None = None


@dataclass(frozen=True)
class TagSyntax:
    """The tags of one model. A tag that is a token of its own is a tag only as that token, never when spelled out."""

    marks: Mapping[int, Mark] = field(default_factory=dict)
    spelled_openings: Mapping[str, TagPair] = field(default_factory=dict)
    spelled_closings: Mapping[str, TagPair] = field(default_factory=dict)

    @cached_property
    def closes_thinking_by_token(self) -> bool:
        return any(_closes_thinking(mark) for mark in self.marks.values())


def read_syntax(added: Mapping[str, int]) -> TagSyntax:
    """The syntax of a model with these added tokens (content to id)."""
    marks: dict[int, Mark] = {}
    openings, closings = {}, {}
    for pair in PAIRS:
        if pair.opening in added:
            marks[added[pair.opening]] = Mark(MarkKind.OPENS, pair)
        elif not pair.label:
            openings[pair.opening] = pair
        if pair.closing is None:
            continue
        if pair.closing in added:
            marks[added[pair.closing]] = Mark(MarkKind.CLOSES, pair)
        else:
            closings[pair.closing] = pair
    marks |= {added[name]: Mark(MarkKind.ANNOTATES) for name in MARKUP_TOKENS if name in added}
    return TagSyntax(marks | _header_marks(added), openings, closings)


def opens_thinking(rendered: str) -> bool:
    """Whether a prompt ends with the beginning of thinking, white space aside."""
    return rendered[-_PROMPT_END:].rstrip().endswith(_THINKING_BEGINS)


def closes_by_spelling(rendered: str, syntax: TagSyntax) -> bool:
    """Whether the thinking that a prompt's end opens is closed by a tag that this model can only spell out.

    A tokenizer may own the tags of another family than the one its template uses.
    """
    end = rendered[-_PROMPT_END:].rstrip()
    opened = (pair for pair in PAIRS if pair.part is Part.THINKING and end.endswith(pair.opening + pair.label))
    return any(pair.closing in syntax.spelled_closings for pair in opened)


def spelled_tags() -> Iterable[str]:
    """Every tag's spelling."""
    for pair in PAIRS:
        yield pair.opening
        if pair.closing:
            yield pair.closing


def _header_marks(added: Mapping[str, int]) -> dict[int, Mark]:
    marks = {}
    for header in HEADERS:
        if header.ends in added:
            marks[added[header.ends]] = Mark(MarkKind.ENDS_HEADER)
            marks |= {
                added[name]: Mark(MarkKind.BEGINS_HEADER, header=header) for name in header.begins if name in added
            }
    return marks


def _closes_thinking(mark: Mark) -> bool:
    return mark.kind is MarkKind.CLOSES and mark.pair is not None and mark.pair.part is Part.THINKING


def _thinking_begins() -> Iterable[str]:
    for pair in PAIRS:
        if pair.part is Part.THINKING:
            yield pair.opening + pair.label
    for header in HEADERS:
        names = [name for name, part in header.parts.items() if part is Part.THINKING]
        yield from (begin + name + header.ends for begin in header.begins for name in names)


_PROMPT_END: Final = 200
_THINKING_BEGINS: Final = tuple(_thinking_begins())
