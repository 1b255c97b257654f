"""The public names, room by room, as their docstrings have them, so that the list cannot go stale."""

import ast
import html
import inspect
import re
from importlib import import_module
from itertools import pairwise
from textwrap import dedent

import transformer_anatomy
from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.course import building_book

PACKAGE = transformer_anatomy.__name__


class Names:
    """All public names of the library by room, with the first sentence of each docstring; a name opens to all of it.

    It shows itself. `rooms` maps a room to its names, and each of them to its module.
    """

    def __init__(self):
        self.rooms: dict[str, dict[str, str]] = {}
        for name, home in sorted(transformer_anatomy._HOMES.items(), key=lambda item: item[0].lower()):
            self.rooms.setdefault(home.partition(".")[0], {})[name] = f"{PACKAGE}.{home}"
        self.rooms = {room: self.rooms[room] for room in ("model", "instruments", "lab", "page")}

    def _repr_html_(self) -> str:
        markup = f'<div class="names anatomy">{"".join(map(_section, self.rooms, self.rooms.values()))}</div>'
        return markup if building_book() else f"<style>{asset('tokens.css', 'cards.css', 'table.css')}</style>{markup}"

    def __repr__(self) -> str:
        homes = {name: home for names in self.rooms.values() for name, home in names.items()}
        return "\n".join(f"{name}: {first_sentence(docstring(name, home))}" for name, home in homes.items())


def docstring(name: str, module: str) -> str:
    """What the source says of a name: the docstring of a function or class, the string below a constant.

    Raises `KeyError` for a constant without one.
    """
    thing = getattr(import_module(module), name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        return inspect.getdoc(thing)
    body = ast.parse(inspect.getsource(import_module(module))).body
    below = {
        target.id: string.value.value
        for constant, string in pairwise(body)
        if isinstance(constant, ast.Assign) and isinstance(string, ast.Expr) and isinstance(string.value, ast.Constant)
        for target in constant.targets
        if isinstance(target, ast.Name)
    }
    return inspect.cleandoc(below[name])


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, or its first paragraph if that is shorter."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[^.][.?])\s+(?=[A-Z`])", paragraph)[0]


def _section(room: str, names: dict[str, str]) -> str:
    says = first_sentence(inspect.getdoc(import_module(f"{PACKAGE}.{room}")))
    entries = "".join(_entry(name, module) for name, module in names.items())
    return f'<section><h3 id="library-{room}">{room}</h3><p>{_formatted(says)}</p>{entries}</section>'


def _entry(name: str, module: str) -> str:
    text = docstring(name, module)
    return (
        f'<details id="library-{name}"><summary><code>{name}</code> <span>{_formatted(first_sentence(text))}</span>'
        f"</summary><div><pre>{html.escape(_call(name, module))}</pre>{_as_html(text)}</div></details>"
    )


def _call(name: str, module: str) -> str:
    """How a name is called, without annotations: what they say of shapes, the docstring says in words."""
    thing = getattr(import_module(module), name)
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return name
    signature = inspect.signature(thing)
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    written = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return name + re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", written)


def _formatted(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"\*(\w+)\*", r"<em>\1</em>", text)


def _as_html(text: str) -> str:
    """A docstring with its paragraphs, indented code and tables."""
    return "".join(map(_block, re.split(r"\n{2,}", text))).replace("</pre><pre>", "\n\n")


def _block(block: str) -> str:
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        return f"<pre>{html.escape(dedent(block))}</pre>"
    if lines[0].startswith("|"):
        head, _, *rows = ([_formatted(cell.strip()) for cell in line.strip("|").split(" | ")] for line in lines)
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{_formatted(block)}</p>"
