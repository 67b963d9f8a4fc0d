"""Random templates, outputs and stop strings: nothing but the declared errors, and no text lost."""

import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.contracts import Message, Part, ProblemError, Removal, Role
from engine.text.assembly import AssembledToken, MessageAssembler
from engine.text.metering import RenderLimits
from engine.text.model import TextModel
from engine.text.stop_strings import StopMatcher
from engine.text.tags import spelled_tags
from engine.text.template import ChatTemplate
from tests.engine.text.assembling import assemble, check_spans, text_of
from tests.engine.text.scripted import ScriptedTokens
from tests.engine.text.small_tokenizers import MARKERS, TAGS, byte_level, load

BOUNDED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = RenderLimits(seconds=0.1, steps=20_000, characters=20_000)

TEMPLATE_PARTS = (
    *("{{ ", " }}", "{% ", " %}", "{%- ", "-%}", "{# ", " #}", "{", "}", "\n", " ", "'", '"', "(", ")", "[", "]", "\\"),
    *(
        "for m in messages",
        "for i in range(9999)",
        "endfor",
        "if m",
        "else",
        "elif x",
        "endif",
        "set x = x ~ x",
        "break",
    ),
    *("macro f(a)", "endmacro", "f(f)", "call f(1)", "endcall", "set x", "endset", "generation", "endgeneration"),
    *("m.content", "m['role']", "messages", "messages[-1]", "x", "loop.index", "loop.length", "namespace(a=1)", "none"),
    *(" | trim", " | tojson", " | length", " | join(x)", " | replace('', x)", " | list", " | map('upper')", " | sort"),
    *(" + ", " * 9999", " ** 99", " % x", " ~ ", " == x", " in x", " is defined", " and ", ".strip()", ".split('a')"),
    *("raise_exception('no')", "strftime_now('%Y')", "include 'x'", "import 'x' as y", "extends 'x'", "block b", "raw"),
)
OUTPUT_PARTS = (
    *spelled_tags(),
    *("`", "```", "\n", " ", "a", "b < c", "<", "</", "<thi", "nk>", "[", "é", "🎉", "stop", "st", "op"),
)
WHOLE_TAGS = re.compile("(?:" + "|".join(map(re.escape, spelled_tags())) + ")+")
TURNS = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})


@BOUNDED
@given(source=st.one_of(st.text(max_size=80), st.lists(st.sampled_from(TEMPLATE_PARTS), max_size=25).map("".join)))
def test_any_template_renders_or_says_why_not(source: str) -> None:
    with contextlib.suppress(ProblemError):
        assert isinstance(ChatTemplate(source, "x.jinja", limits=QUICK).render(TURNS, {"x": "ab"}), str)


@BOUNDED
@given(data=st.data(), parts=st.lists(st.sampled_from(OUTPUT_PARTS), max_size=20), opens=st.booleans())
def test_the_parts_do_not_depend_on_how_tokens_cut_the_text(data: st.DataObject, parts: list[str], opens: bool) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text.encode())), max_size=12)))

    whole = assembled([character.encode() for character in text], opens)
    cut = assembled(pieces(text.encode(), cuts), opens)

    assert text_of(cut) == text_of(whole)
    assert by_character(cut) == by_character(whole) or any(crosses_parts(token, whole) for token in cut)


@BOUNDED
@given(
    parts=st.lists(st.sampled_from(OUTPUT_PARTS), max_size=20),
    stop=st.lists(st.sampled_from(["stop", "a", "</think>", "p`", "b < "]), max_size=2),
    opens=st.booleans(),
)
@example(parts=["<think>", "a", "</think>", "b"], stop=[], opens=False)
def test_only_whole_tags_and_what_follows_a_stop_string_are_removed(
    parts: list[str], stop: list[str], opens: bool
) -> None:
    text = "".join(parts)

    out = assembled([character.encode() for character in text], opens, stop=stop)

    check_spans([token.piece for token in out])
    assert "".join(token.piece.data.decode() for token in out) == text
    shown = first_stop(text, stop)
    for removed, run in itertools.groupby(out[:shown], key=lambda token: token.piece.removed):
        spelled = "".join(token.piece.data.decode() for token in run)
        assert removed is None or (removed is Removal.MARKUP and (WHOLE_TAGS.fullmatch(spelled) or shown is not None))
    assert all(token.piece.text == token.piece.data.decode() for token in out if token.piece.removed is None)
    assert all(token.piece.removed is Removal.STOP_STRING for token in out[shown:] if shown is not None)


@BOUNDED
@given(parts=st.lists(st.sampled_from(OUTPUT_PARTS), max_size=20), opens=st.booleans(), data=st.data())
def test_every_token_comes_out_once_whichever_tags_are_tokens(
    parts: list[str], opens: bool, data: st.DataObject
) -> None:
    marked = data.draw(st.sets(st.sampled_from([*TAGS, "[THINK]", "[/THINK]", "<|channel>", "<channel|>"])))
    tokens = ScriptedTokens.of_texts(*parts, added=marked, special=marked & {"[THINK]", "[/THINK]"})
    assembler = MessageAssembler(tokens, opens_thinking=opens)
    out = [token for token_id in tokens.ids for token in assembler.push(token_id)] + list(assembler.finish())

    assert [token.id for token in out] == tokens.ids
    check_spans([token.piece for token in out])


@BOUNDED
@given(
    text=st.text("ab", max_size=60),
    stop=st.lists(st.text("ab", min_size=1, max_size=6), max_size=3),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_a_stop_string_is_found_where_a_search_finds_it(text: str, stop: list[str], cuts: list[int]) -> None:
    matcher = StopMatcher(stop)
    for piece in pieces(text.encode(), sorted(cuts)):
        matcher.push(piece.decode())
        assert matcher.start is not None or not any(matcher_held(text, matcher.decided, stop))

    assert matcher.start == first_stop(text, stop)


@BOUNDED
@given(contents=st.lists(st.text(max_size=40) | st.sampled_from([*MARKERS, *TAGS]), min_size=1, max_size=4))
def test_any_text_is_encoded_whole_and_without_control(encoding_model: TextModel, contents: list[str]) -> None:
    messages = [Message(Role.USER, content) for content in contents]

    prompt = encoding_model.encode_chat(messages)

    spelled = b"".join(map(encoding_model.token_bytes, prompt.token_ids)).decode()
    assert spelled == "".join(f"<|im_start|>user\n{content}<|im_end|>" for content in contents)
    assert sum(map(encoding_model.is_special, prompt.token_ids)) == 2 * len(contents)


@pytest.fixture(scope="module")
def encoding_model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
    folder: Path = tmp_path_factory.mktemp("fuzz")
    return load(folder, byte_level(), template=template)


def assembled(script: Sequence[bytes], opens_thinking: bool, stop: Sequence[str] = ()) -> list[AssembledToken]:
    tokens = ScriptedTokens(script, (), ())
    return assemble(tokens, tokens.ids, opens_thinking=opens_thinking, stop=stop)


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    borders = [0, *(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(borders) if end > start]


def by_character(tokens: Sequence[AssembledToken]) -> list[Part]:
    return [token.piece.part for token in tokens for _ in token.piece.text]


def crosses_parts(token: AssembledToken, whole: Sequence[AssembledToken]) -> bool:
    """A token can belong to one part only, even when its text lies in two."""
    parts = by_character(whole)[token.piece.start : token.piece.end]
    return len(set(parts)) > 1


def matcher_held(text: str, decided: int, stop: Sequence[str]) -> list[bool]:
    """For each stop string, whether it begins in the text declared free of any, as far as that was pushed."""
    return [any(text.startswith(each, at) and at + len(each) <= decided for at in range(decided)) for each in stop]


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    for end in range(len(text) + 1):
        lengths = [len(each) for each in stop if text[:end].endswith(each)]
        if lengths:
            return end - max(lengths)
    return None
