"""QTI 1.2: the items of Canvas, of Common Cartridge and of older platforms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.safe_xml import Element
from tqnet.text.plain import BLANK, plain, plain_texts

#: What Canvas writes for the folder of a cartridge's files, and where these are.
_FILE_BASE = "$IMS-CC-FILEBASE$/"
_FOLDERS = ("web_resources/", "")


def items(job: Job, root: Element, name: str) -> Iterator[Draft]:
    """Yield a draft of each ``item`` of a ``questestinterop``."""
    for item in root.iter("item"):
        yield _Item(job, item, name).draft()


@dataclass
class _Response:
    """A response of an item: its text, its choices by identifier, and the values that score, best first."""

    prompt: str
    choices: dict[str, str]
    right: list[str]
    is_text: bool

    def shown(self) -> list[str]:
        return [self.choices.get(value, value) for value in self.right]


class _Item:
    def __init__(self, job: Job, item: Element, document: str):
        self._job, self._item, self._document = job, item, document
        self._place: Place = job.place(document, item.sourceline or 0)
        self._images: list[str] = []

    def draft(self) -> Draft:
        item = self._item
        metadata = {
            (field.findtext("fieldlabel") or "").strip(): (field.findtext("fieldentry") or "").strip()
            for field in item.iter("qtimetadatafield")
        }
        presentation = item.find("presentation")
        stem, responses = "", []
        if presentation is None:
            self._fault("presentation", "missing")
        else:
            elements = [
                part for part in presentation.iter() if part.tag in ("response_lid", "response_str", "response_num")
            ]
            inside = {part for response in elements for part in response.iter()}
            stem = self._texts(part for part in presentation.iter("material") if part not in inside)
            responses = [self._response(element) for element in elements]
            for part in presentation.iter("response_xy", "response_grp", "response_extension"):
                self._fault("presentation", f"the response to <{part.tag}> is not read")
        feedback = distinct(self._texts(part.iter("material")) for part in item.iter("itemfeedback"))
        record: dict[str, Any] = {
            "id": item.get("ident") or None,
            "stem": stem,
            "type": metadata.get("question_type") or metadata.get("cc_profile") or None,
            "analysis": "\n".join(filter(None, feedback)) or None,
            "extras": {"title": item.get("title")} if item.get("title") else {},
        }
        fields = self._answered(stem, responses)
        record["extras"] |= fields.pop("extras", {})
        record |= fields
        return Draft(record | {"images": distinct(self._images)}, self._place)

    def _answered(self, stem: str, responses: list[_Response]) -> dict[str, Any]:
        if not responses:
            return {}
        if all(response.is_text for response in responses):
            answers = [response.right[0] if response.right else "" for response in responses]
            more = responses[0].right[1:] if len(responses) == 1 else []
            fields: dict[str, Any] = {"answer": (answers[0] or None) if len(answers) == 1 else _numbered(answers)}
            return fields | ({"extras": {"accepted": more}} if more else {})
        if len(responses) == 1:
            (response,) = responses
            names = list(response.choices)
            places = sorted(names.index(value) for value in response.right if value in names)
            return {"options": list(response.choices.values()), "answer": lettered(places) or None}
        return self._several(stem, responses)

    def _several(self, stem: str, responses: list[_Response]) -> dict[str, Any]:
        """Read blanks called ``[name]``, or a matching: the items numbered, what they match as options."""
        lines = []
        options = list(responses[0].choices.values())
        is_matching = all(list(response.choices.values()) == options for response in responses)
        for number, response in enumerate(responses, 1):
            if f"[{response.prompt}]" in stem:
                stem = stem.replace(f"[{response.prompt}]", f"{BLANK}({number})")
            elif is_matching:
                lines.append(f"{number}. {response.prompt}")
            else:
                lines.append(f"{number}. {response.prompt} ({' / '.join(response.choices.values())})")
        stem = "\n".join([stem, *lines])
        if not is_matching:
            return {"stem": stem, "answer": _numbered([" / ".join(response.shown()) for response in responses])}
        pairs = [
            f"{number}-{lettered([options.index(answer)])}"
            for number, response in enumerate(responses, 1)
            for answer in response.shown()[:1]
            if answer in options
        ]
        return {"stem": stem, "options": options, "answer": ", ".join(pairs) or None}

    def _response(self, element: Element) -> _Response:
        labels = list(element.iter("response_label"))
        inside = {part for label in labels for part in label.iter()}
        choices = {label.get("ident", ""): self._texts(label.iter("material")) for label in labels}
        is_text = element.tag != "response_lid" or element.find(".//render_fib") is not None
        prompt = self._texts(part for part in element.iter("material") if part not in inside)
        right = self._right(element.get("ident", ""))
        if not right and not is_text:
            self._fault(element.get("ident", "response"), "no correct response")
        return _Response(prompt, {} if is_text else choices, right, is_text)

    def _right(self, name: str) -> list[str]:
        """Return the values that score for a response; those of the condition with the highest score first."""
        scored: list[tuple[float, str]] = []
        for condition in self._item.iter("respcondition"):
            score = max((_number(setvar.text) for setvar in condition.iter("setvar")), default=0.0)
            if score <= 0 or (variables := condition.find("conditionvar")) is None:
                continue
            wrong = {part for negation in variables.iter("not") for part in negation.iter()}
            values = [part for part in variables.iter("varequal") if part not in wrong]
            scored += [(score, (part.text or "").strip()) for part in values if part.get("respident") == name]
        return distinct(value for _, value in sorted(scored, key=lambda pair: -pair[0]) if value)

    def _texts(self, materials: Any) -> str:
        return "\n".join(filter(None, (self._material(part) for material in materials for part in material)))

    def _material(self, part: Element) -> str:
        if part.tag == "matimage":
            self._take_figure(part.get("uri") or "")
            return ""
        if part.tag not in ("mattext", "matemtext"):
            if isinstance(part.tag, str) and part.tag.startswith("mat") and part.tag != "matbreak":
                self._fault("material", f"<{part.tag}> is not read")
            return ""
        content = "".join(part.itertext()).strip()
        if part.get("texttype", "text/plain") == "text/plain":
            (text,) = plain_texts([content], self._job.settings.language)
        else:
            text = plain(content, self._job.settings.language)
        for lost in text.lost:
            self._fault("material", lost)
        for source in text.images:
            self._take_figure(source)
        return text.text

    def _take_figure(self, source: str) -> None:
        path = source.partition("?")[0] if source.startswith(_FILE_BASE) else source
        names = [folder + path.removeprefix(_FILE_BASE) for folder in _FOLDERS] if path.startswith(_FILE_BASE) else []
        inside = next((name for name in names if name in self._job.source.names), None)
        if inside is not None:
            self._images += self._job.figure(inside, "", self._place, "images")
        else:
            self._images += self._job.figure(path.removeprefix(_FILE_BASE), self._document, self._place, "images")

    def _fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)


def _numbered(answers: list[str]) -> str | None:
    return "; ".join(f"{number}: {answer}" for number, answer in enumerate(answers, 1) if answer) or None


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
