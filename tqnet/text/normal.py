r"""A normal form of formulas, so that equal formulas are equal text.

``\dfrac12``, ``{1 \over 2}`` and ``1/2`` are ``\frac{1}{2}``; ``\left( x \right)`` is ``(x)``; ``x²`` and ``x^2`` are
``x^{2}``. Only spelling is changed: ``2x+1`` and ``1+2x`` differ, and so do ``0.5`` and ``\frac{1}{2}``.

NOTE: FSE normalizes with an ANTLR grammar; this token parser accepts everything in a bank, even incomplete formulas,
and takes a fraction of a millisecond.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from tqnet.text.formulas import formula_tokens
from tqnet.text.latex import ARITY, SPELT_FUNCTIONS, UNIT_NAMES
from tqnet.text.vocabulary import SYNONYMS, TYPOGRAPHIC

_SYMBOLS = r"""
    ×=\times ⋅=\cdot ·=\cdot ∙=\cdot ÷=\div ±=\pm ∓=\mp −=- –=- ≤=\leq ≥=\geq ⩽=\leq ⩾=\geq ≠=\neq ≈=\approx ≡=\equiv
    ∼=\sim ∝=\propto ∞=\infty √=\sqrt ∑=\sum ∏=\prod ∫=\int ∂=\partial ∇=\nabla ∈=\in ∉=\notin ⊂=\subset ⊆=\subseteq
    ∪=\cup ∩=\cap ∅=\emptyset ∀=\forall ∃=\exists ¬=\neg ∧=\wedge ∨=\vee →=\rightarrow ⇒=\Rightarrow ⇔=\Leftrightarrow
    ∠=\angle △=\triangle Δ=\Delta ⊥=\perp ∥=\parallel ∴=\therefore ∵=\because …=\dots °=^{\circ} ′=' ″=''
    α=\alpha β=\beta γ=\gamma δ=\delta ε=\epsilon ζ=\zeta η=\eta θ=\theta λ=\lambda μ=\mu ν=\nu ξ=\xi π=\pi ρ=\rho
    σ=\sigma τ=\tau φ=\phi χ=\chi ψ=\psi ω=\omega Γ=\Gamma Θ=\Theta Λ=\Lambda Π=\Pi Σ=\Sigma Φ=\Phi Ψ=\Psi Ω=\Omega
    ½=\frac{1}{2} ⅓=\frac{1}{3} ¼=\frac{1}{4} ¾=\frac{3}{4} ⅔=\frac{2}{3}
"""
#: Unicode signs -> LaTeX commands.
SIGNS = {ord(sign): f"{command} " for sign, _, command in (pair.partition("=") for pair in _SYMBOLS.split())}

_MEANING_THE_SAME = r"""
    \leqslant=\leq \geqslant=\geq \longrightarrow=\rightarrow \implies=\Rightarrow \iff=\Leftrightarrow
    \longleftrightarrow=\leftrightarrow \ldots=\dots \cdots=\dots \dotsc=\dots \dotsb=\dots \ast=\times *=\times
    \varnothing=\emptyset \land=\wedge \lor=\vee \lnot=\neg \vert=| \mid=| \lvert=| \rvert=| \Vert=\| \colon=:
    \lbrace=\{ \rbrace=\} \lbrack=[ \rbrack=] \tg=\tan \ctg=\cot \arctg=\arctan \bigtriangleup=\triangle
    \varepsilon=\epsilon \vartheta=\theta \varphi=\phi \%=% \tbinom=\binom \widehat=\hat \overrightarrow=\vec
"""
_ONE_NAME = SYNONYMS | dict(pair.split("=", 1) for pair in _MEANING_THE_SAME.split())
_LOOKS = r"\ ~ & \middle \scriptscriptstyle \mathstrut \strut \nonumber \hfill \cal"
#: Sizes, spaces and fonts without arguments, including those of `tqnet.text.vocabulary`.
_NO_MEANING = TYPOGRAPHIC | frozenset(_LOOKS.split())

_WORDS = re.compile(
    r"(?P<command>\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|operatorname\*?|mbox|hbox))\s*\{(?P<words>[^{}]*)\}"
)
_ONE_ARGUMENT = r"\mathit \mathsf \boldsymbol \bm \displaylimits \boxed \mathop \mathord \mathrel"
#: Commands that only change how their argument looks.
_FONTS = frozenset(_ONE_ARGUMENT.split())
_FUNCTIONS = ("sinh", "cosh", "tanh", *SPELT_FUNCTIONS)
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMAND_LAST = re.compile(r"\\[A-Za-z]+$")
_LONGEST_COMMAND = 40
#: Maximum number of characters of a formula to read. NFKC turns some characters into eighteen.
_MAX_LENGTH = 50_000
#: Maximum nesting of sequences.
_MAX_DEPTH = 100
_LETTER = re.compile(r"[A-Za-z]")


def normal_formula(formula: str) -> str:
    """Return the normal form of a formula without delimiters; for invalid LaTeX, some form."""
    try:
        return _joined(_Parser(_read_tokens(formula)).sequence())
    except RecursionError:  # a hundred groups within groups
        return formula.strip()


def _read_tokens(formula: str) -> list[str]:
    """Return tokens by their canonical names, without typography; words as spelt."""
    raised = re.sub("[⁰¹²³⁴-⁹⁻ⁿ]+", lambda run: f"^{{{unicodedata.normalize('NFKC', run[0])}}}", formula)
    lowered = re.sub("[₀-₉]+", lambda run: f"_{{{unicodedata.normalize('NFKC', run[0])}}}", raised)
    plain = unicodedata.normalize("NFKC", lowered.translate(SIGNS)).translate(SIGNS)
    if len(plain) > _MAX_LENGTH:
        return [formula.strip()]
    tokens: list[str] = []
    for token in formula_tokens(plain):
        if words := _WORDS.fullmatch(token):
            tokens += _words(words["command"], words["words"].split())
        elif token == r"\degree":
            tokens += [r"\circ"] if tokens and tokens[-1] == "^" else ["^", r"\circ"]
        elif token == "." and tokens and tokens[-1] in (r"\left", r"\right"):
            tokens[-1] = r"\,"  # an invisible bracket
        else:
            tokens.append(_ONE_NAME.get(token, token))
    return [token for token in _spelt_functions(tokens) if token not in _NO_MEANING]


def _words(command: str, words: list[str]) -> list[str]:
    r"""Return the words of a \text{}, or the letters of \mathbf{AB}."""
    if len(words) == 1 and words[0] in SPELT_FUNCTIONS:
        return [f"\\{words[0]}"]
    if command.startswith(r"\math") or (len(words) == 1 and words[0] in UNIT_NAMES):
        return list("".join(words))
    return words


def _spelt_functions(tokens: Sequence[str]) -> list[str]:
    r"""Read ``s i n x`` as \sin x, unless a letter precedes it."""
    named: list[str] = []
    at = 0
    while at < len(tokens):
        run = "".join(token if len(token) == 1 else " " for token in tokens[at : at + 6])
        name = next((name for name in _FUNCTIONS if run.startswith(name)), "")
        if name and not (named and _LETTER.fullmatch(named[-1])):
            named.append(f"\\{name}")
            at += len(name)
        else:
            named.append(tokens[at])
            at += 1
    return named


@dataclass
class _Atom:
    """A symbol with its scripts, in writing order."""

    base: str
    subscript: str = ""
    primes: str = ""
    superscript: str = ""

    def __str__(self) -> str:
        below = f"_{{{self.subscript}}}" if self.subscript else ""
        above = f"^{{{self.superscript}}}" if self.superscript else ""
        return f"{self.base}{below}{self.primes}{above}"

    @property
    def is_number(self) -> bool:
        return _NUMBER.fullmatch(str(self)) is not None


@dataclass
class _Parser:
    """Reads tokens from left to right; missing arguments are empty."""

    tokens: list[str]
    at: int = 0
    brackets: int = field(default=0, init=False)
    depth: int = field(default=0, init=False)

    def sequence(self, closing: str = "") -> list[_Atom]:
        """Read atoms up to the token ``closing``, which is consumed, or to the end.

        Raises:
            RecursionError: Sequences are nested too deep; each level would write the inner ones once more.
        """
        if self.depth == _MAX_DEPTH:
            raise RecursionError
        self.depth += 1
        atoms = self._atoms(closing)
        self.depth -= 1
        return atoms

    def _atoms(self, closing: str) -> list[_Atom]:
        atoms: list[_Atom] = []
        while (token := self._next()) and token != closing:
            if token == "{":
                inner = self.sequence("}")
                if (
                    len(inner) == 1
                    and str(inner[0]) == ","
                    and atoms
                    and atoms[-1].is_number
                    and _DIGITS.fullmatch(self._ahead)
                ):
                    atoms[-1].base += self._next()  # 10{,}000
                else:
                    atoms += inner
            elif token in (r"\over", r"\choose"):
                command = r"\frac" if token == r"\over" else r"\binom"
                return _quotients([_Atom(f"{command}{{{_joined(atoms)}}}{{{_joined(self.sequence(closing))}}}")])
            elif token in ("^", "_", "'"):
                self._add_script(token, atoms)
            elif token != "}":
                self._add_symbol(token, atoms)
        return _quotients(atoms)

    def _add_script(self, mark: str, atoms: list[_Atom]) -> None:
        if not atoms:
            atoms.append(_Atom(""))
        if mark == "'":
            atoms[-1].primes += "'"
            return
        script = self._argument()
        if mark == "_":
            atoms[-1].subscript += script
        elif set(script.replace(r"\prime", "'")) == {"'"}:
            atoms[-1].primes += script.replace(r"\prime", "'")
        else:
            atoms[-1].superscript += script

    def _add_symbol(self, token: str, atoms: list[_Atom]) -> None:
        self.brackets += (token in ("(", "[", r"\{")) - (token in (")", "]", r"\}"))
        if token in _FONTS:
            atoms += [_Atom(self._argument())]
        elif token == "." and _DIGITS.fullmatch(self._ahead) and not (atoms and atoms[-1].is_number):
            atoms.append(_Atom(f"0.{self._next()}"))
        elif token == "," and self._is_mark_of_thousands(atoms):
            atoms[-1].base += self._next()
        else:
            atoms.append(_Atom(token + self._arguments(token)))

    def _is_mark_of_thousands(self, atoms: list[_Atom]) -> bool:
        """Return True for a comma within a number; in brackets it separates two numbers: (1,000)."""
        if not atoms or not atoms[-1].is_number or self.brackets:
            return False
        return len(self._ahead) == 3 and _DIGITS.fullmatch(self._ahead) is not None

    def _arguments(self, command: str) -> str:
        option = ""
        if command == r"\sqrt" and self._ahead == "[":
            self._next()
            option = f"[{_joined(self.sequence(']'))}]"
        return option + "".join(f"{{{self._argument()}}}" for _ in range(ARITY.get(command, 0)))

    def _argument(self) -> str:
        """Read the next group, command with its arguments, or sign."""
        token = self._next()
        if token == "{":
            return _joined(self.sequence("}"))
        if token.isdecimal() and len(token) > 1:  # \frac12
            self.at -= 1
            self.tokens[self.at] = token[1:]
            return token[0]
        if token in ("", "}"):
            self.at -= token == "}"
            return ""
        return self._argument() if token in _FONTS else token + self._arguments(token)

    @property
    def _ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._ahead
        self.at += bool(token)
        return token


def _quotients(atoms: list[_Atom]) -> list[_Atom]:
    """Write 1/2 as a fraction, but not in a date, 1/2/2020, or where it may be part of a product, 2x/3."""
    written: list[_Atom] = []
    texts = ["", *map(str, atoms), "", "", ""]  # texts[at] precedes atoms[at]
    at = 0
    while at < len(atoms):
        before, over, slash, under, after = texts[at : at + 5]
        if slash == "/" and _NUMBER.fullmatch(over) and _NUMBER.fullmatch(under) and "/" not in (before, after):
            written.append(_Atom(f"\\frac{{{over}}}{{{under}}}"))
            at += 3
        else:
            written.append(atoms[at])
            at += 1
    return written


def _joined(atoms: Sequence[_Atom]) -> str:
    """Join atoms, with a space only where two names would become one."""
    pieces, end, after_word = [], "", False
    for atom in atoms:
        piece, is_word = str(atom), len(atom.base) > 1 and atom.base.isalpha()
        name_before = after_word or (is_word and end[-1:].isalpha()) or _COMMAND_LAST.search(end)
        pieces.append(f" {piece}" if name_before and piece[:1].isalpha() else piece)
        end = (end + pieces[-1])[-_LONGEST_COMMAND:]  # searching everything written so far would take quadratic time
        after_word = is_word and piece == atom.base
    return "".join(pieces)
