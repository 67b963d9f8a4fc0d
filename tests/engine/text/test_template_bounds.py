"""Templates that loop, grow, fail or refuse: each ends soon, in one sentence, and does no harm."""

import time

import pytest

from engine.contracts import ProblemError
from engine.text.metering import Meter, RenderLimits, TemplateLimitError
from engine.text.template import ChatTemplate

LIMITS = RenderLimits(seconds=0.3, steps=300_000, characters=200_000)
TURNS = ({"role": "user", "content": "secret words"}, {"role": "assistant", "content": "other words"})


def grown(step: str, start: str = "'a'") -> str:
    """A template that takes a growing step 99 times."""
    return "{% set n = namespace(x=" + start + ", y=" + start + ") %}{% for i in range(99) %}" + step + "{% endfor %}"


NEST = grown("{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}")
ENDLESS = {
    "nested loops without output": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops of lazy filters": "{% for a in range(9999) %}{{ range(99999) | map('string') | list | length }}{% endfor %}",
    "lazy filters over lazy filters": (
        "{{ range(99999) | map('string') | map('upper') | map('lower') | map('trim') | list | length }}"
    ),
    "output without end": "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
    "repetition of text": "{{ 'a' * 1000000000 }}",
    "repetition of a list": "{{ ([1] * 1000000000) | length }}",
    "a power": "{{ 9 ** 999999999 }}",
    "numbers that double": grown("{% set n.x = n.x * n.x %}", "9"),
    "text that doubles by joining": grown("{% set n.x = n.x ~ n.x %}"),
    "text that doubles by adding": grown("{% set n.x = n.x + n.x %}"),
    "text that doubles by capture": grown("{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}"),
    "text that doubles by replacing": grown("{% set n.x = n.x.replace('a', 'aa') %}"),
    "text that doubles by the filter": grown("{% set n.x = n.x | replace('a', 'aa') %}"),
    "text squared by join": "{% set x = 'ab' * 50000 %}{{ x.join(x | list) }}",
    "text squared by the filter": "{% set x = 'ab' * 50000 %}{{ x | list | join(x) }}",
    "a nest shown": NEST + "{{ n.x }}",
    "a nest as JSON": NEST + "{{ n.x | tojson }}",
    "nests compared": NEST + "{{ n.x == n.y }}",
    "nests compared by a test": NEST + "{{ n.x is eq(n.y) }}",
    "nests compared in a list": NEST + "{{ [n.x].index(n.y) }}",
    "nests compared by a loop": NEST + "{% for i in [n.x, n.y] %}{{ loop.changed(i) }}{% endfor %}",
    "nests sorted": NEST + "{{ [n.x, n.y] | sort | length }}",
    "a nest as a key": grown("{% set n.x = (n.x, n.x) %}") + "{{ {n.x: 1} | length }}",
    "text squared by a lazy join": "{{ ('x' * 100000).join(range(99999) | map('string')) }}",
    "texts that are kept": grown("{% set n.y = n.y + ['x' * 190000] %}", "[]").replace("range(99)", "range(9999)"),
    "a nest as text": NEST + "{{ n.x | string | length }}",
    "a nest formatted": NEST + "{{ '%s' % n.x }}",
    "a wide number": "{{ '%1000000000d' % 1 }}",
    "a wide number by argument": "{{ '%*d' % (1000000000, 1) }}",
    "a wide format": "{{ '{:>1000000000}'.format(1) }}",
    "a wide format of a map": "{{ '{x:>1000000000}'.format_map({'x': 1}) }}",
    "padding": "{{ 'a'.ljust(1000000000) }}",
    "an indent": "{{ 'a\nb' | indent(1000000000) }}",
    "an indent of JSON": "{{ [1] | tojson(indent=1000000000) }}",
    "a wide date": "{{ strftime_now('%1000000000d') }}",
}
FAILING = {
    "a macro that calls itself": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "a loop that calls itself": "{% for i in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "an unknown attribute": "{{ nothing.at.all }}",
    "a division by zero": "{{ 1 / 0 }}",
    "an inclusion": "{% include 'x' %}",
    "an escape from the sandbox": "{{ ''.__class__.__mro__ }}",
    "a change of the messages": "{{ messages.append(1) }}",
    "an expansion of tabs": "{{ '\t'.expandtabs(1000000000) }}",
}
DAMAGED = {
    "an unfinished block": "\n\n{% if %}",
    "an unknown tag": "\n\n{% nonsense %}",
    "an unknown filter": "\n\n{{ 'x' | center(10) }}",
    "an unclosed expression": "\n\n{{ messages",
    "deep brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep blocks": "{% if 1 %}" * 300 + "{% endif %}" * 300,
    "deep lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
}


def problem_of(source: str) -> tuple[str, str]:
    with pytest.raises(ProblemError) as caught:
        ChatTemplate(source, "chat_template.jinja", limits=LIMITS).render(TURNS, {})
    return caught.value.problem.code, caught.value.problem.sentence


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_a_template_without_end_is_stopped(source: str) -> None:
    start = time.perf_counter()

    code, sentence = problem_of(source)

    assert code == "template_endless"
    assert "chat_template.jinja, line " in sentence
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("source", FAILING.values(), ids=FAILING)
def test_a_template_that_fails_says_where(source: str) -> None:
    code, sentence = problem_of(f"\n\n{source}")

    assert code == "template_failed"
    assert "(chat_template.jinja, line " in sentence


@pytest.mark.parametrize("source", DAMAGED.values(), ids=DAMAGED)
def test_a_template_that_does_not_parse_says_so(source: str) -> None:
    code, sentence = problem_of(source)

    assert code == "template_damaged"
    assert sentence.startswith("The chat template (chat_template.jinja) does not parse, ")


def test_a_syntax_error_names_its_line() -> None:
    assert "line 3: " in problem_of(DAMAGED["an unfinished block"])[1]


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception(messages[0].content) }}",
        "{{ raise_exception('I refuse ' ~ messages[0].content) }}",
        "{{ messages[messages[0].content].x.y }}",
        "{{ 1 + messages[0].content }}",
    ],
)
def test_no_problem_quotes_the_text_of_a_message(source: str) -> None:
    assert "secret" not in problem_of(source)[1]


def test_a_template_that_failed_works_again_at_once() -> None:
    template = ChatTemplate("{% if bad %}{{ 1 / 0 }}{% endif %}{{ messages[0].role }}", "x.jinja", limits=LIMITS)
    with pytest.raises(ProblemError):
        template.render(TURNS, {"bad": True})

    assert template.render(TURNS, {}) == "user"


def test_the_messages_cannot_be_changed_by_a_template() -> None:
    turns = [dict(turn) for turn in TURNS]
    with pytest.raises(ProblemError):
        ChatTemplate("{{ messages[0].update(role='x') }}", "x.jinja", limits=LIMITS).render(turns, {})

    assert turns == [dict(turn) for turn in TURNS]


@pytest.mark.parametrize(
    ("source", "rendered"),
    {
        "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ '.' if loop.last }}{% endfor %}": "1/22/2.",
        "{% for m in messages %}{{ (loop.previtem or m).role }}{% endfor %}": "useruser",
        "{% for m in messages if m.role == 'user' %}{{ m.role }}{% else %}none{% endfor %}": "user",
        "{% for m in missing %}x{% else %}none{% endfor %}": "none",
        "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for k in {'b': 1} %}{{ k }}{% endfor %}": "a1b",
        "{% for m in messages %}{% if loop.index == 2 %}{% break %}{% endif %}{{ m.role }}{% endfor %}": "user",
        "{{ messages | map(attribute='role') | join('+') }}": "user+assistant",
        "{{ messages | join('+', attribute='role') }}{{ '-'.join(['a', 'b']) }}": "user+assistanta-b",
        "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}": "1",
        "{{ '%s-%02d' % ('a', 7) }}{{ '{}'.format(3) }}{{ 2 ** 10 }}{{ 'ab' * 2 }}{{ [1] + [2] }}": (
            "a-0731024abab[1, 2]"
        ),
        "{{ {'a': 'é<'} | tojson }}{{ 'é' | tojson(ensure_ascii=true) }}": '{"a": "é<"}"\\u00e9"',
        "{{ 'a\nb' | indent(2) }}|{{ 'a\nb' | indent(2, true) }}": "a\n  b|  a\n  b",
        "{{ ' x ' | trim }}{{ ' y '.strip() }}{{ 'a,b'.split(',') | last }}{{ 'aa'.replace('a', 'b') }}": "xybbb",
        "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% macro m(y) %}[{{ y }}{{ caller() }}]{% endmacro %}"
        "{% call m(2) %}z{% endcall %}": "a1[2z]",
        "{{ 1 < 2 < 3 }}{{ 'a' in 'abc' }}{{ none is none }}{{ x is defined }}": "TrueTrueTrueFalse",
        "{{ missing }}{{ none ~ 'x' }}": "Nonex",
        "{% generation %}{{ 1 }}{% endgeneration %}": "1",
        "{{ dict(a=1).a }}{{ 'x' if none else 'y' }}{{ [3, 1] | sort | first }}": "1y1",
    }.items(),
)
def test_what_templates_use_works_as_everywhere(source: str, rendered: str) -> None:
    assert ChatTemplate(source, "x.jinja", limits=LIMITS).render(TURNS, {}) == rendered


def test_what_a_template_keeps_is_bounded_as_well() -> None:
    meter = Meter(RenderLimits(characters=1_000), message_characters=0)

    with pytest.raises(TemplateLimitError):
        list(map(meter.allow, [1_000] * 1_000))


def test_a_long_conversation_is_no_endless_one() -> None:
    turns = [dict(TURNS[number % 2]) for number in range(5_000)]
    source = "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' + m.content | trim }}{% endfor %}"

    assert ChatTemplate(source, "x.jinja").render(turns, {}).count("<|user|>") == 2_500
