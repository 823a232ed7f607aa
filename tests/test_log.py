"""The append-only log: views that look immutable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_replay.log import Log


def test_extending_leaves_the_shorter_view_as_it_was() -> None:
    """A view never changes, however its log grows."""
    first = Log([1, 2])
    second = first.extend([3])
    assert (list(first), list(second)) == ([1, 2], [1, 2, 3])


def test_extending_an_old_view_forks() -> None:
    """Two extensions of one view do not see each other."""
    base = Log([1])
    left, right = base.extend([2]), base.extend([3])
    assert (list(base), list(left), list(right)) == ([1], [1, 2], [1, 3])


def test_a_fork_is_no_continuation_of_the_other_branch() -> None:
    """`continues` holds along a branch and not across branches."""
    base = Log([1])
    left, right = base.extend([2]), base.extend([3])
    assert left.continues(base)
    assert left.continues(left)
    assert not base.continues(left)
    assert not right.continues(left)


def test_membership_looks_only_at_the_own_prefix() -> None:
    """`in` does not see what a longer view of the same log holds."""
    base = Log(["a"])
    longer = base.extend(["b"])
    assert "b" in longer
    assert "b" not in base
    assert "a" in base


def test_membership_after_a_fork_sees_the_own_branch() -> None:
    """`in` on one branch does not see an item of the other."""
    base = Log(["a"])
    left, right = base.extend(["b"]), base.extend(["c"])
    assert ("b" in left, "c" in left, "b" in right, "c" in right) == (True, False, False, True)


def test_indexing_stays_inside_the_view() -> None:
    """An index past the view is an error although the shared list is longer."""
    base = Log([1, 2])
    base.extend([3])
    assert (base[0], base[-1], base[0:5]) == (1, 2, [1, 2])
    with pytest.raises(IndexError):
        base[2]
    with pytest.raises(IndexError):
        base[-3]


def test_a_log_equals_a_list_of_the_same_items() -> None:
    """Equality is by items, with any sequence, and never with a text."""
    assert Log([1, 2]) == [1, 2]
    assert Log([1, 2]) != [1, 3]
    assert Log([1, 2]) != [1]
    assert Log(["a"]) != "a"


def test_extending_appends_in_place() -> None:
    """A thousand extensions share one list: no copy a step."""
    log: Log[int] = Log()
    views = [log := log.extend([number]) for number in range(1000)]
    assert all(view.continues(views[0]) for view in views)


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=3)), max_size=30))
def test_views_equal_plain_lists(operations: list[tuple[int, list[int]]]) -> None:
    """Whatever is extended in whatever order, each view equals the list it stands for."""
    views: list[tuple[Log[int], list[int]]] = [(Log(), [])]
    for place, items in operations:
        log, plain = views[place % len(views)]
        views.append((log.extend(items), [*plain, *items]))
    for log, plain in views:
        assert list(log) == plain
        assert [item in log for item in range(10)] == [item in plain for item in range(10)]
