"""QTI 1.2: the items of Canvas, of Common Cartridge, of Blackboard and of older platforms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.qti_interactions import UnknownChoiceError, chosen
from tqnet.importers.safe_xml import Element, inner_markup
from tqnet.text.plain import BLANK, plain, plain_texts

#: What Canvas writes for the folder of a cartridge's files, and where these are.
_FILE_BASE = "$IMS-CC-FILEBASE$/"
_FOLDERS = ("web_resources/", "")
#: QTI's name of texts without markup, and Blackboard's.
_PLAIN = ("text/plain", "PLAIN_TEXT")


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
    is_ordered: bool = False
    extras: dict[str, Any] = field(default_factory=dict)

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
        blackboard = item.findtext(".//bbmd_questiontype")
        kind = metadata.get("question_type") or metadata.get("cc_profile") or blackboard
        presentation = item.find("presentation")
        stem, responses = "", []
        if presentation is None:
            self._fault("presentation", "missing")
        else:
            elements = [
                part for part in presentation.iter() if part.tag in ("response_lid", "response_str", "response_num")
            ]
            stem = self._stem(presentation, elements)
            responses = [self._response(element) for element in elements]
            for part in presentation.iter("response_xy", "response_grp", "response_extension"):
                self._fault("presentation", f"the response to <{part.tag}> is not read")
        feedback = distinct(self._texts(part.iter("material")) for part in item.iter("itemfeedback"))
        record: dict[str, Any] = {
            "id": item.get("ident") or None,
            "stem": stem,
            "type": kind or None,
            "analysis": "\n".join(filter(None, feedback)) or None,
            "extras": {"title": item.get("title")} if item.get("title") else {},
        }
        fields = self._answered(stem, responses, kind == "matching_question") | self._calculated()
        record["extras"] |= fields.pop("extras", {})
        record |= fields
        return Draft(record | {"images": distinct(self._images)}, self._place)

    def _stem(self, presentation: Element, responses: list[Element]) -> str:
        """Return the texts beside the responses, with blanks for those that a text follows, or of which are several."""
        inside = {part for response in responses for part in response.iter()}
        typed = [response for response in responses if _is_text(response)]
        pieces: list[str] = []
        for part in presentation.iter("material", "response_str", "response_lid", "response_num"):
            if part.tag == "material" and part not in inside:
                pieces += filter(None, [self._texts([part])])
            elif part in typed and part.find("material") is None:
                pieces.append(BLANK)
        if len(typed) < 2 and pieces[-1:] == [BLANK]:
            pieces.pop()
        lines: list[str] = []
        for before, piece in zip(["", *pieces], pieces, strict=False):
            if lines and BLANK in (before, piece):
                lines[-1] = f"{lines[-1]} {piece}"
            else:
                lines.append(piece)
        return "\n".join(lines)

    def _calculated(self) -> dict[str, Any]:
        """Return the formula of Canvas's calculated questions, in the variables ``[x]`` of the stem."""
        calculated = self._item.find(".//calculated")
        if calculated is None:
            return {}
        formulas = [text for formula in calculated.iter("formula") if (text := (formula.text or "").strip())]
        if not formulas:
            self._fault("calculated", "no formula")
            return {}
        tolerance = (calculated.findtext("answer_tolerance") or "").strip()
        extras = {"tolerance": tolerance} if tolerance not in ("", "0") else {}
        return {"answer": "; ".join(formulas), "extras": extras}

    def _answered(self, stem: str, responses: list[_Response], is_matching: bool) -> dict[str, Any]:
        if not responses:
            return {}
        if all(response.is_text for response in responses):
            answers = [response.right[0] if response.right else "" for response in responses]
            (accepted, extras) = (responses[0].right[1:], responses[0].extras) if len(responses) == 1 else ([], {})
            extras = extras | ({"accepted": accepted} if accepted else {})
            return {"answer": (answers[0] or None) if len(answers) == 1 else _numbered(answers), "extras": extras}
        if len(responses) == 1 and not is_matching:
            (response,) = responses
            names = list(response.choices)
            places = list(map(names.index, response.right))
            if f"[{response.prompt}]" in stem:
                stem = stem.replace(f"[{response.prompt}]", BLANK)
            elif response.prompt:
                stem = f"{stem}\n{response.prompt}".strip()
            answer = (
                "-".join(lettered([place]) for place in places) if response.is_ordered else lettered(sorted(places))
            )
            return {"stem": stem, "options": list(response.choices.values()), "answer": answer or None}
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
        is_text, name = _is_text(element), element.get("ident", "")
        prompt = self._texts(part for part in element.iter("material") if part not in inside)
        cardinality = element.get("rcardinality", "Single")
        scored = self._scored(name)
        best = max(scored.values(), default=0.0)
        right = [value for value, score in scored.items() if score == best or cardinality != "Single"]
        extras: dict[str, Any] = {}
        if is_text:
            partial = {value: round(100 * score / best, 5) for value, score in scored.items() if value not in right}
            extras = {"partial": partial} if partial else {}
            if not right and (span := self._range(name)):
                right, extras = [span[0]], {"tolerance": span[1]}
        is_asked = any(
            part.get("respident") == name for part in self._item.iter("varequal", "vargte", "varlte", "varsubstring")
        )
        if not right and (is_asked or not is_text):
            self._fault(name or "response", "no correct response")
        names = list(choices)
        try:
            right = right if is_text else [names[place] for place in chosen(names, right)]
        except UnknownChoiceError as error:
            self._fault(name or "response", str(error))
            right = []
        return _Response(prompt, {} if is_text else choices, right, is_text, cardinality == "Ordered", extras)

    def _scored(self, name: str) -> dict[str, float]:
        """Return the values that score for a response, the best first, with the highest score of each."""
        scores: dict[str, float] = {}
        for score, variables in self._conditions():
            wrong = {part for negation in variables.iter("not") for part in negation.iter()}
            for part in variables.iter("varequal"):
                value = (part.text or "").strip()
                if value and part not in wrong and part.get("respident") == name:
                    scores[value] = max(score, scores.get(value, 0.0))
        return dict(sorted(scores.items(), key=lambda pair: -pair[1]))

    def _range(self, name: str) -> tuple[str, str] | None:
        """Return the middle of the range that scores and how far it reaches: 3 and 0.5 for 2.5 to 3.5."""
        for _, variables in self._conditions():
            bounds = [
                [part.text or "" for part in variables.iter(*tags) if part.get("respident") == name]
                for tags in (("vargte", "vargt"), ("varlte", "varlt"))
            ]
            try:
                low, high = (Decimal(texts[0].strip()) for texts in bounds)
            except (IndexError, InvalidOperation):
                continue
            return f"{((low + high) / 2).normalize():f}", f"{((high - low) / 2).normalize():f}"
        return None

    def _conditions(self) -> Iterator[tuple[float, Element]]:
        """Yield the score and the variables of each condition that scores."""
        for condition in self._item.iter("respcondition"):
            score = max((_number(setvar.text) for setvar in condition.iter("setvar")), default=0.0)
            if score > 0 and (variables := condition.find("conditionvar")) is not None:
                yield score, variables

    def _texts(self, materials: Any) -> str:
        tags = "*[not(self::mat_extension)] | mat_extension/*"
        parts = (part for material in materials for part in material.xpath(tags))
        return "\n".join(filter(None, map(self._material, parts)))

    def _material(self, part: Element) -> str:
        if part.tag == "matimage":
            is_embedded = part.get("embedded") == "base64"
            self._take_figure(f"data:;base64,{part.text or ''}" if is_embedded else part.get("uri") or "")
            return ""
        if part.tag not in ("mattext", "matemtext", "mat_formattedtext"):
            if part.tag.startswith("mat") and part.tag != "matbreak":
                self._fault("material", f"<{part.tag}> is not read")
            return ""
        is_markup = len(part) > 0  # that nobody escaped
        content = inner_markup(part) if is_markup else (part.text or "").strip()
        if not is_markup and (part.get("texttype") or part.get("type", "text/plain")) in _PLAIN:
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
        inside = next((name for name in names if name in self._job.source.held), None)
        if inside is not None:
            self._images += self._job.figure(inside, "", self._place, "images")
        else:
            self._images += self._job.figure(path.removeprefix(_FILE_BASE), self._document, self._place, "images")

    def _fault(self, name: str, message: str) -> None:
        self._job.fault(self._place, name, message)


def _is_text(response: Element) -> bool:
    return response.tag != "response_lid" or response.find(".//render_fib") is not None


def _numbered(answers: list[str]) -> str | None:
    return "; ".join(f"{number}: {answer}" for number, answer in enumerate(answers, 1) if answer) or None


def _number(text: str | None) -> float:
    if text == "SCORE.max":  # Blackboard's
        return 100.0
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
