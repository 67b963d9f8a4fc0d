"""A tree grows from whatever messages say of their parents."""

from hypothesis import given
from hypothesis import strategies as st

from app.chats.importing.growth import Entry, Growth, grown, in_order_of_children, rooted
from app.chats.tree import Turn, TurnId, branch_to
from engine.contracts import Role
from tests.app.chats.exporting.examples import BOUNDED


def turn(text: str, role: Role = Role.USER) -> Turn:
    return Turn(id=TurnId(0), parent=None, role=role, text=text)


def entry(key: str, parent: str | None, role: Role | None = Role.USER) -> Entry:
    return Entry(key, parent, None if role is None else turn(key, role))


def shape(growth: Growth) -> list[tuple[str, str | None]]:
    """Each text with that of its parent."""
    texts = {each.id: each.text for each in growth.turns}
    return [(each.text, None if each.parent is None else texts[each.parent]) for each in growth.turns]


def test_parents_come_before_their_children_and_siblings_keep_their_order() -> None:
    tree = grown([entry("c", "b"), entry("x", None), entry("d", "b"), entry("b", "a"), entry("a", None)])

    assert shape(tree) == [("a", None), ("b", "a"), ("c", "b"), ("x", None), ("d", "b")]
    assert tree.cut == 0


def test_the_children_of_a_hidden_message_take_its_place() -> None:
    tree = grown(
        [entry("a", None), entry("h", "a", None), entry("i", "h", None), entry("b", "i"), entry("e", "h", None)]
    )

    assert shape(tree) == [("a", None), ("b", "a")]
    assert tree.places["e"] == tree.turns[0].id


def test_a_message_whose_parent_is_missing_begins_a_branch() -> None:
    tree = grown([entry("a", "nowhere"), entry("b", "a")])

    assert shape(tree) == [("a", None), ("b", "a")]
    assert tree.cut == 1


def test_a_ring_is_opened() -> None:
    tree = grown([entry("a", "c"), entry("b", "a"), entry("c", "b"), entry("self", "self")])

    assert shape(tree) == [("b", None), ("c", "b"), ("a", "c"), ("self", None)]
    assert tree.cut == 2


def test_an_answer_in_several_messages_is_one() -> None:
    tree = grown([entry("q", None), *(entry(key, parent, Role.ASSISTANT) for key, parent in ("aq", "ba", "cb"))])

    assert shape(tree) == [("q", None), ("a\n\nb\n\nc", "q")]
    assert tree.places["a"] == tree.places["c"] == tree.turns[1].id


def test_an_answer_in_very_many_messages_is_joined_in_one_go() -> None:
    """Words added one after the other would be copied 20,000 times."""
    word = "x" * 1_000
    keys = [str(number) for number in range(20_000)]
    parents = [None, *keys]
    pairs = zip(keys, parents, strict=False)

    tree = grown(Entry(key, parent, turn(word, Role.ASSISTANT)) for key, parent in pairs)

    assert len(tree.turns[0].text) == 20_000 * 1_002 - 2


def test_an_answer_that_branches_is_not_joined() -> None:
    tree = grown(
        [entry("q", None), *(entry(key, parent, Role.ASSISTANT) for key, parent in ("aq", "ba", "ca"))],
    )

    assert shape(tree) == [("q", None), ("a", "q"), ("b", "a"), ("c", "a")]


def test_a_very_deep_conversation_grows() -> None:
    entries = [entry(str(number), str(number - 1) if number else None) for number in range(50_000)]

    tree = grown(reversed(entries))

    assert len(branch_to(tree.turns, tree.turns[-1].id)) == 50_000


def test_children_are_in_their_parents_order() -> None:
    children = {"r": ["b", "a"], "a": ["c"], "b": [], "c": [], "ring": ["ring2"], "ring2": ["ring"]}

    assert in_order_of_children(children) == ["r", "b", "a", "c", "ring", "ring2"]


_keys = st.sampled_from("abcdefgh")


@BOUNDED
@given(
    st.lists(
        st.tuples(_keys, st.none() | _keys | st.just("nowhere"), st.none() | st.sampled_from(Role)).map(
            lambda each: entry(*each)
        )
    )
)
def test_every_visible_message_is_in_the_tree_once_below_an_earlier_one(entries: list[Entry]) -> None:
    tree = grown(entries)

    first = {each.key: each for each in reversed(entries)}
    visible = sorted(key for key, each in first.items() if each.turn is not None)
    assert sorted("\n\n".join(each.text for each in tree.turns).split("\n\n")) == (visible or [""])
    assert [each.id for each in tree.turns] == list(range(1, len(tree.turns) + 1))
    assert all(each.parent is None or each.parent < each.id for each in tree.turns)
    assert set(tree.places) == {None, *first}


@BOUNDED
@given(st.dictionaries(_keys, st.lists(_keys | st.just("nowhere"), max_size=4)))
def test_the_order_of_children_has_every_key_once(children: dict[str, list[str]]) -> None:
    assert sorted(in_order_of_children(children)) == sorted(children)


@BOUNDED
@given(st.lists(st.tuples(_keys, st.none() | _keys).map(lambda each: entry(*each)), unique_by=lambda each: each.key))
def test_what_is_sound_keeps_its_order(entries: list[Entry]) -> None:
    once, _ = rooted(entries)
    again, cut = rooted(once)

    assert again == once
    assert cut == 0
