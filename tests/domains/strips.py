"""A tiny STRIPS machine: it reads the PDDL of a domain and says which steps can be taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Fact = tuple[str, ...]


def read_lisp(text: str) -> Any:
    """Nested lists of words."""
    stack: list[list[Any]] = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            finished = stack.pop()
            stack[-1].append(finished)
        else:
            stack[-1].append(word)
    return stack[0][0]


def section(tree: Any, name: str) -> Any:
    return next(part[1:] for part in tree if isinstance(part, list) and part[0] == name)


class Machine:
    """Facts that hold, and ground actions that change them."""

    def __init__(self, domain: str, problem: str) -> None:
        self.schemas = {part[1]: part for part in read_lisp(domain) if part[0] == ":action"}
        task = read_lisp(problem)
        self.facts: set[Fact] = {tuple(fact) for fact in section(task, ":init")}
        self.goal: set[Fact] = {tuple(fact) for fact in section(task, ":goal")[0][1:]}

    @property
    def solved(self) -> bool:
        return self.goal <= self.facts

    def steps(self) -> list[Fact]:
        """All ground actions whose preconditions hold, as `(name, *arguments)`."""
        found = []
        for name, schema in self.schemas.items():
            parameters = [word for word in schema[3] if word.startswith("?")]
            for value in self._unify(schema[5][1:], {}):
                found.append((name, *(value[parameter] for parameter in parameters)))
        return found

    def apply(self, name: str, *arguments: str) -> None:
        """Takes a step that `steps` named; what it adds wins over what it deletes."""
        schema = self.schemas[name]
        parameters = [word for word in schema[3] if word.startswith("?")]
        value = dict(zip(parameters, arguments, strict=True))
        effects = schema[7][1:]
        self.facts -= {_ground(effect[1], value) for effect in effects if effect[0] == "not"}
        self.facts |= {_ground(effect, value) for effect in effects if effect[0] != "not"}

    def _unify(
        self, conditions: list[list[str]], value: dict[str, str]
    ) -> Iterator[dict[str, str]]:
        """Assignments of the parameters under which all conditions are facts."""
        if not conditions:
            yield value
            return
        pattern = _ground(conditions[0], value)
        for fact in self.facts:
            if fact[0] != pattern[0] or len(fact) != len(pattern):
                continue
            extended = dict(value)
            if all(
                word == other
                or (word.startswith("?") and extended.setdefault(word, other) == other)
                for word, other in zip(pattern, fact, strict=True)
            ):
                yield from self._unify(conditions[1:], extended)


def _ground(fact: list[str], value: dict[str, str]) -> Fact:
    return tuple(value.get(word, word) for word in fact)
