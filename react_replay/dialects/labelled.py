"""Text protocols from a table of labels: `LabelledDialect`, read by the line scanner.

The first label in order decides; the payload is decoded first and says where the input ends; what comes
after is dropped and flagged. Nothing is guessed: what cannot be read beyond doubt is `Malformed`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from react_replay.dialects.actions import Action, clean_name, object_reply, read_action
from react_replay.dialects.base import Answer, Dialect, Malformed, Opening, Outcome, ToolCalls
from react_replay.dialects.markup import clean_reply
from react_replay.dialects.payload import Payload, read_json, unfenced
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
        cleaned = clean_reply(text)
        if cleaned.calls and not self.strict:
            return ToolCalls(calls=cleaned.calls[:1], flags=cleaned.flags, kept=text)
        outcome = _Reading(self, cleaned.text, tools, cut).outcome()
        if cleaned.flags:
            return replace(outcome, flags=(*cleaned.flags, *outcome.flags))
        return outcome

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

    def __init__(self, dialect: LabelledDialect, text: str, tools: Sequence[ToolSpec], cut: bool) -> None:
        self.dialect = dialect
        self.scanner = _scanner(tuple(sorted(dialect.labels.items())))
        self.text = _outer_fence_removed(text)
        self.tools = {tool.name: tool for tool in tools}
        self.cut = cut
        self.thought = ""
        self.flags: list[str] = []

    def outcome(self) -> Outcome:
        text = self.text
        if not self.dialect.strict and text.lstrip()[:1] == "{":
            reply = object_reply(text)
            if reply is not None:
                return self._from_object(reply)
        first: Label | None = None
        thought_at: int | None = None
        for label in self.scanner.scan(text):
            if label.kind == THOUGHT:
                thought_at = label.end if thought_at is None else thought_at
            elif label.kind in (ACTION, ANSWER, OBSERVATION) or (
                label.kind == INPUT and thought_at is not None
            ):
                first = label
                break
        end = first.start if first else len(text)
        self.thought = text[thought_at or 0 : end].strip()
        if first is None or first.kind in (INPUT, OBSERVATION):
            return self._malformed(self._missing(first, thought_at))
        return self._answer(first) if first.kind == ANSWER else self._action(first)

    def _missing(self, first: Label | None, thought_at: int | None) -> str:
        spelled = self.dialect.labels
        action, answer = f"`{spelled[ACTION][0]}:`", f"`{spelled[ANSWER][0]}:`"
        if first is not None and first.kind == INPUT:
            return f"an input stands without its {action} line"
        found = "only a thought" if thought_at is not None else "no label"
        return f"found {found}; after the thought write {action} to use a tool or {answer} to finish"

    def _malformed(self, reason: str, kept: str | None = None) -> Outcome:
        return Malformed(
            reason=reason,
            thought=self.thought,
            flags=tuple(self.flags),
            kept=self.text.strip() if kept is None else kept,
        )

    def _answer(self, label: Label) -> Outcome:
        end = len(self.text)
        for later in self.scanner.scan(self.text, label.end):
            if later.kind in (QUESTION, THOUGHT, OBSERVATION):
                end = later.start
                odd = Flag.INVENTED_OBSERVATION if later.kind == OBSERVATION else Flag.TRAILING_TEXT
                self.flags.append(odd)
                break
        return self._final(self.text[label.end : end].strip(), end)

    def _final(self, answer: str, end: int) -> Outcome:
        if not answer:
            return self._malformed("the final answer is empty; write it after its label")
        return Answer(
            answer=answer, thought=self.thought, flags=tuple(self.flags), kept=self.text[:end].strip()
        )

    def _action(self, label: Label) -> Outcome:
        """An action: its line, then the input that its own label or its call syntax gives."""
        text = self.text
        later = self.scanner.scan(text, label.end)
        following = next(later, None)
        limit = following.start if following else len(text)
        action = read_action(text, label.end, limit, self.dialect.input, known=self.tools)
        self.flags += action.flags
        if action.nothing:
            answer = self.dialect.labels[ANSWER][0]
            return self._malformed(f"no tool is named; to finish without a tool write `{answer}:`")
        if action.error:
            return self._malformed(action.error)
        payload = action.payload
        if payload is None and following is not None and following.kind == INPUT:
            payload = self._input(following)
        if payload is None:
            return self._without_input(action)
        if payload.error:
            return self._malformed(payload.error)
        self.flags += payload.flags
        self._after(payload.end)
        return self._call(action.name, payload)

    def _input(self, label: Label) -> Payload:
        """What stands after the input label. JSON first; free text up to the next label."""
        text, start = self.text, label.end
        while start < len(text) and text[start].isspace():
            start += 1
        following = next(self.scanner.scan(text, label.end), None)
        limit = following.start if following else len(text)
        fence = unfenced(text, start)
        inner = fence[0] if fence else start
        if text[inner : inner + 1] == "{":
            read = read_json(text, inner, fence[1] if fence else limit, strict=self.dialect.strict)
            if not read.error and isinstance(read.value, dict):
                return read._replace(end=max(read.end, fence[2])) if fence else read
            if fence is None or self.dialect.input == "json":
                return read._replace(error=self._unreadable(read.error or "it is no object"))
        if self.dialect.input == "json":
            return Payload(None, limit, (), self._unreadable("it is no JSON object"))
        if fence:
            return Payload(text[fence[0] : fence[1]].rstrip("\n"), fence[2])
        free = self.scanner.without_stop_word(text[start:limit]).strip()
        return Payload(_unquoted(free), limit)

    def _unreadable(self, why: str) -> str:
        label = self.dialect.labels[INPUT][0]
        return f'the {label} must be a JSON object such as {{"name": "value"}}: {why}'

    def _after(self, end: int) -> None:
        """Flags for what stands behind the payload, which is dropped."""
        following = next(self.scanner.scan(self.text, end), None)
        limit = following.start if following else len(self.text)
        rest = self.scanner.without_stop_word("\n" + self.text[end:limit])
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
            return self._malformed(f"the action {action.name} has no input; it needs {fields}")
        if action.name.casefold() in _FINISH and not spec:
            return self._malformed("the final answer is empty; write it after its label")
        self._after(action.end)
        return self._call(action.name, Payload({}, action.end))

    def _call(self, name: str, payload: Payload) -> Outcome:
        value = payload.value
        if name.casefold() in _FINISH and name not in self.tools:
            if isinstance(value, dict) and len(value) == 1:
                value = next(iter(value.values()))
            return self._final(value if isinstance(value, str) else str(value), payload.end)
        if self.cut and payload.end >= len(self.text.rstrip()) and isinstance(value, str):
            self.flags.append(Flag.TRUNCATED)
            return self._malformed("the reply was cut before the input ended")
        call = ToolCall(name=name, arguments=value)
        return ToolCalls(
            calls=(call,),
            thought=self.thought,
            flags=tuple(dict.fromkeys(self.flags)),
            kept=self.text[: payload.end].strip(),
        )

    def _from_object(self, reply: dict[str, Any]) -> Outcome:
        self.thought = str(reply.get("thought") or "")
        if (answer := reply.get("answer")) is not None:
            return self._final(answer if isinstance(answer, str) else str(answer), len(self.text))
        name = clean_name(str(reply["action"]), self.tools, self.flags)
        value = reply["input"]
        if value is None:
            return self._without_input(Action(name=name, end=len(self.text)))
        if not isinstance(value, (dict, str)) or (isinstance(value, str) and self.dialect.input == "json"):
            return self._malformed(self._unreadable("it is no object"))
        return self._call(name, Payload(value, len(self.text)))


_FINISH = frozenset({"finish", "final answer", "final_answer", "最终答案", "完成"})


def _unquoted(text: str) -> str:
    """A text that is one JSON string and nothing else, without its quotes."""
    if len(text) > 1 and text[0] == '"' and text[-1] == '"':
        read = read_json(text, 0, len(text), strict=True)
        if isinstance(read.value, str) and read.end == len(text):
            return read.value
    return text


def _outer_fence_removed(text: str) -> str:
    """A reply that stands as a whole inside one code fence, without it."""
    stripped = text.strip()
    if not stripped.startswith("```") or not stripped.endswith("```"):
        return text
    fence = unfenced(stripped, 0)
    if fence is None or fence[2] < len(stripped):
        return text
    return stripped[fence[0] : fence[1]]
