"""Text protocols from a table of labels: `LabelledDialect`, read by the line scanner.

The first label in order decides; the payload is decoded first and says where the input ends; what comes
after is dropped and flagged. Nothing is guessed: what cannot be read beyond doubt is `Malformed`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from react_replay.dialects.actions import FINISH, Action, clean_name, object_reply, read_action, spelled
from react_replay.dialects.base import Answer, Dialect, Malformed, Opening, Outcome, ToolCalls
from react_replay.dialects.leaked import BROKEN_CALL
from react_replay.dialects.markup import clean_reply
from react_replay.dialects.payload import Payload, read_json, unfenced, whole_json, without_outer_fence
from react_replay.dialects.prompts import PROMPTS, has_chinese
from react_replay.dialects.scanner import (
    ACTION,
    ANSWER,
    INPUT,
    OBSERVATION,
    QUESTION,
    THOUGHT,
    Label,
    Scanner,
)
from react_replay.messages import Completion, Flag, Message, Observation, ToolCall, ToolSpec

__all__ = ["LABELS", "LabelledDialect"]

LABELS: Mapping[str, tuple[str, ...]] = {
    THOUGHT: ("Thought", "Think", "Reasoning", "思考", "想法"),
    ACTION: ("Action", "Tool", "行动", "动作"),
    INPUT: ("Action Input", "Input", "Tool Input", "行动输入", "动作输入", "输入"),
    OBSERVATION: ("Observation", "观察", "观察结果"),
    ANSWER: ("Final Answer", "Answer", "最终答案", "答案"),
    QUESTION: ("Question", "问题"),
}
"""The usual labels in English and Chinese, fullwidth colons and bold or numbered forms included."""


@functools.lru_cache(maxsize=64)
def _scanner(labels: tuple[tuple[str, tuple[str, ...]], ...]) -> Scanner:
    return Scanner(dict(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledDialect(Dialect):
    """A text protocol. `labels` gives each kind's spellings, the first being the one we write.

    `input="json"` wants a JSON object after the input label, `"any"` takes free text too, `"bracket"` reads
    `Action: tool[text]`. `strict` repairs nothing and takes nothing without its label. `prompt` names the
    prompt texts, `language` is `"en"` or `"zh"`.
    """

    name: str = "labelled"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: LABELS)
    input: Literal["json", "any", "bracket"] = "any"
    strict: bool = False
    stop: tuple[str, ...] = ()
    prompt: str = "labelled"
    language: Literal["en", "zh"] = "en"
    one_message: bool = False
    scanner: Scanner = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = tuple(sorted((kind, tuple(spellings)) for kind, spellings in self.labels.items()))
        object.__setattr__(self, "scanner", _scanner(table))

    def localised(self, question: str) -> Dialect:
        if self.name == "zh" or not has_chinese(question):
            return self
        return replace(self, language="zh")

    @property
    def _texts(self) -> Any:
        return PROMPTS[self.prompt, self.language]

    def open(self, question: str, *, tools: Sequence[ToolSpec], system: str | None = None) -> Opening:
        prompt = self._texts.instructions(tools, question)
        options = {"stop": list(self.stop)} if self.stop else {}
        messages: list[Message]
        if self.one_message:
            messages = [] if system is None else [{"role": "system", "content": system}]
            messages.append({"role": "user", "content": prompt})
        else:
            whole = prompt if system is None else f"{system}\n\n{prompt}"
            messages = [{"role": "system", "content": whole}, {"role": "user", "content": question}]
        return Opening(messages=tuple(messages), options=options)

    def parse(self, completion: Completion, tools: Sequence[ToolSpec] = ()) -> Outcome:
        cut = completion.finish_reason in ("length", None)
        return self.parse_text(completion.content or "", tools, cut=cut)

    def parse_text(self, text: str, tools: Sequence[ToolSpec] = (), *, cut: bool = False) -> Outcome:
        """Read a reply's text; `cut` says that the provider stopped it."""
        if "<" not in text and "[TOOL_CALLS]" not in text:
            return _Reading(self, text, tools, cut).outcome()
        reply, cleaned = text, clean_reply(text, {tool.name for tool in tools}, fenced=True)
        text, kept = cleaned.text, ""
        if cleaned.calls and not self.strict:
            text, kept = cleaned.before, cleaned.kept
        outcome = _Reading(self, text, tools, cut).outcome()
        flags = tuple(dict.fromkeys((*cleaned.flags, *outcome.flags)))
        if not outcome.kept:  # nothing but tokens: an empty turn is refused by some servers
            outcome = replace(outcome, kept=reply.strip())
        if cleaned.broken and isinstance(outcome, Malformed):
            kept = _Reading(self, reply, tools, cut).malformed(BROKEN_CALL).kept
            return replace(outcome, flags=flags, reason=BROKEN_CALL, kept=kept)
        if kept and isinstance(outcome, Malformed):  # no label stands before the call that was found
            return ToolCalls(calls=cleaned.calls[:1], thought=outcome.thought, flags=flags, kept=kept)
        return replace(outcome, flags=flags) if flags else outcome

    def written(self, kind: str) -> str:
        """How we write the label of a kind when we tell the model what we expected."""
        spellings = self.labels.get(kind) or LABELS[kind]
        if self.prompt == "zh":
            return next((spelling for spelling in spellings if has_chinese(spelling)), spellings[0])
        return spellings[0]

    def assistant(self, completion: Completion, outcome: Outcome) -> Message:
        return {"role": "assistant", "content": outcome.kept}

    def render(self, observations: Sequence[Observation]) -> list[Message]:
        label = self._texts.observation
        text = "\n".join(f"{label}{seen.text}" for seen in observations)
        return [{"role": "user", "content": text}]

    def mend(self, reason: str) -> Message:
        return {"role": "user", "content": self._texts.mend.format(reason=reason)}


class _Reading:
    """One reply being read."""

    __slots__ = ("cut", "dialect", "flags", "scan", "text", "thought", "tools")

    def __init__(self, dialect: LabelledDialect, text: str, tools: Sequence[ToolSpec], cut: bool) -> None:
        self.dialect = dialect
        self.scan = dialect.scanner.scan
        self.text = without_outer_fence(text)
        self.tools = {tool.name: tool for tool in tools}
        self.cut = cut
        self.thought = ""
        self.flags: list[str] = []

    def outcome(self) -> Outcome:
        text = self.text
        if not self.dialect.strict and text.startswith("{"):
            reply = object_reply(text, self.tools)
            if reply is not None:
                return self._from_object(reply)
        thought_at: int | None = None
        orphan = False
        labels = self.scan(text)
        for label in labels:
            kind = label.kind
            if kind == THOUGHT:
                thought_at = label.end if thought_at is None else thought_at
            elif kind in (ACTION, ANSWER):
                self.thought = text[thought_at or 0 : label.start].strip()
                return self._action(label, labels) if kind == ACTION else self._answer(label, labels)
            elif kind == INPUT:
                orphan = True
            elif kind == OBSERVATION:
                break
        self.thought = text[thought_at or 0 :].strip()
        return self.malformed(self._missing(orphan, thought_at is not None))

    def _missing(self, orphan: bool, thought: bool) -> str:
        action, answer = (f"`{self.dialect.written(kind)}:`" for kind in (ACTION, ANSWER))
        if orphan:
            return f"an input stands without its {action} line"
        found = "only a thought" if thought else "no label"
        return f"found {found}; after the thought write {action} to use a tool or {answer} to finish"

    def malformed(self, reason: str) -> Outcome:
        """The reply goes back as it is, but for an observation that the model made up after an action."""
        end, acted = len(self.text), False
        for label in self.scan(self.text):
            acted = acted or label.kind in (ACTION, INPUT)
            if acted and label.kind == OBSERVATION:
                end = label.start
                self.flags.append(Flag.INVENTED_OBSERVATION)
                break
        flags = tuple(dict.fromkeys(self.flags))
        return Malformed(reason=reason, thought=self.thought, flags=flags, kept=self.text[:end].strip())

    def _answer(self, label: Label, labels: Iterator[Label]) -> Outcome:
        end = len(self.text)
        for later in labels:
            if later.kind in (QUESTION, THOUGHT, OBSERVATION):
                end = later.start
                odd = Flag.INVENTED_OBSERVATION if later.kind == OBSERVATION else Flag.TRAILING_TEXT
                self.flags.append(odd)
                break
            if later.kind == ACTION:  # the answer may well speak of one
                self.flags.append(Flag.AMBIGUOUS)
        return self._final(_unbolded(self.text[label.end : end].strip(), label.bold), end)

    def _final(self, answer: str, end: int) -> Outcome:
        if not answer.strip():
            return self.malformed("the final answer is empty; write it after its label")
        flags = tuple(dict.fromkeys(self.flags))
        return Answer(answer=answer, thought=self.thought, flags=flags, kept=self.text[:end].strip())

    def _action(self, label: Label, labels: Iterator[Label]) -> Outcome:
        """An action: its line, then the input that its own label or its call syntax gives."""
        following = next(labels, None)
        limit = following.start if following else len(self.text)
        action = read_action(self.text, label.end, limit, self.dialect.input, known=self.tools)
        if action.flags:
            self.flags += action.flags
        if action.nothing:
            answer = self.dialect.written(ANSWER)
            return self.malformed(f"no tool is named; to finish without a tool write `{answer}:`")
        if action.error:
            return self.malformed(action.error)
        payload, labelled = action.payload, False
        if payload is None and following is not None and following.kind == INPUT:
            payload, labelled = self._input(following, labels), True
            if payload.value == "":
                action.end, payload = payload.end, None
        if payload is None:
            return self._without_input(action)
        if payload.error:
            return self.malformed(payload.error)
        return self._call(action.name, payload, labelled=labelled)

    def _input(self, label: Label, labels: Iterator[Label]) -> Payload:
        """What stands after the input label. JSON first; free text up to the next label."""
        text, wants_json = self.text, self.dialect.input == "json"
        start = _past_blanks(text, label.end)
        following = next(labels, None)
        limit = following.start if following else len(text)
        fence = None
        if text[start : start + 1] in ("`", "~"):
            fence = unfenced(text, start, limit)
            start = _past_blanks(text, fence[0]) if fence else start + (text[start : start + 2] == "`{")
        if text[start : start + 1] in ("{", "｛"):
            read = read_json(text, start, fence[1] if fence else limit, strict=self.dialect.strict)
            if not read.error:
                return read._replace(end=max(read.end, fence[2])) if fence else read
            if fence is None or wants_json:
                return read._replace(error=self._unreadable(read.error))
        if fence:
            return Payload(text[fence[0] : fence[1]].rstrip("\r\n"), fence[2])
        free = self.dialect.scanner.without_stop_word(text[label.end : limit])
        end = label.end + len(free.rstrip())
        free = _unbolded(free.strip(), label.bold)
        return Payload(free if wants_json else _unquoted(free), end)

    def _unreadable(self, why: str) -> str:
        return f'the {self.dialect.written(INPUT)} must be a JSON object such as {{"name": "value"}}: {why}'

    def _after(self, end: int) -> None:
        """Flags for what stands behind the payload, which is dropped."""
        if not self.text[end:].strip():
            return
        following = next(self.scan(self.text, end), None)
        limit = following.start if following else len(self.text)
        rest = self.dialect.scanner.without_stop_word("\n" + self.text[end:limit])
        if rest.strip(" \t\r\n`*"):
            self.flags.append(Flag.TRAILING_TEXT)
        if following is not None:
            odd = Flag.INVENTED_OBSERVATION if following.kind == OBSERVATION else Flag.AMBIGUOUS
            self.flags.append(odd)

    def _without_input(self, action: Action) -> Outcome:
        """A tool named without an input: right where the tool needs none."""
        spec = self.tools.get(action.name)
        required = list((spec.parameters.get("required") or ()) if spec else ())
        if required:
            fields = ", ".join(f"`{name}`" for name in required)
            return self.malformed(f"the action {action.name} has no input; it needs {fields}")
        if not spec and action.name.casefold() in FINISH:
            return self.malformed("the final answer is empty; write it after its label")
        if self.text[action.end :].lstrip(" \t\r\n`").startswith("{"):
            return self.malformed(f"an input stands without its `{self.dialect.written(INPUT)}:` label")
        if self.cut and not self.text[action.end :].strip():
            return self._cut()
        return self._call(action.name, Payload({}, action.end))

    def _cut(self) -> Outcome:
        self.flags.append(Flag.TRUNCATED)
        return self.malformed("the reply was cut before the input ended")

    def _call(self, name: str, payload: Payload, *, labelled: bool = False) -> Outcome:
        """A call with its payload; `labelled`: it stood behind the input's own label."""
        value, end = payload.value, payload.end
        if payload.flags:
            self.flags += payload.flags
        if self.dialect.strict and Flag.REPAIRED in self.flags:
            return self.malformed("the input is not written as agreed: check its quotes and brackets")
        self._after(end)
        if name not in self.tools and name.casefold() in FINISH:
            if isinstance(value, dict) and len(value) == 1:
                value = next(iter(value.values()))
            return self._final(spelled(value), end)
        if isinstance(value, str):
            if labelled and self.dialect.input == "json":  # a tool's field is never guessed
                return self.malformed(self._unreadable("it is no JSON object"))
            if self.cut and not self.text[end:].strip():
                return self._cut()
        return ToolCalls(
            calls=(ToolCall(name=name, arguments=value),),
            thought=self.thought,
            flags=tuple(dict.fromkeys(self.flags)) if self.flags else (),
            kept=self.text[:end].strip(),
        )

    def _from_object(self, reply: dict[str, Any]) -> Outcome:
        self.thought, end = reply["thought"], len(self.text)
        self.flags += reply["flags"]
        if (answer := reply["answer"]) is not None:
            return self._final(spelled(answer), end)
        name = clean_name(reply["action"], self.tools, self.flags)
        value = reply["input"]
        if value is None:
            return self._without_input(Action(name=name, end=end))
        return self._call(name, Payload(value, end))


def _past_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _unbolded(text: str, mark: str) -> str:
    """A text whose first line ends the bold that began before its label, without that mark."""
    if mark:
        head, newline, rest = text.partition("\n")
        return head.removesuffix(mark).rstrip() + newline + rest
    return text


def _unquoted(text: str) -> str:
    """A text that is one JSON string and nothing else, without its quotes."""
    value = whole_json(text) if text.startswith('"') else None
    return value if isinstance(value, str) else text
