"""``--add-noqa``: comments that suppress what was found, in the form that other tools know."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from autolint.diagnostic import Diagnostic, TextEdit
from autolint.fix import edited
from autolint.source import Source, Unparsable, parse
from autolint.suppress import Headers

_NOQA = re.compile(r"#\s*noqa\s*:\s*[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*")


def suppressed(source: Source, findings: Iterable[Diagnostic]) -> Source | None:
    """The file with a comment on the statement of each finding.

    None where a comment would not be one: behind a statement whose line goes on with a string.
    """
    tree = parse(source.text)
    after = source.with_original(edited(source, list(comments(source, tree, findings))))
    try:
        same = ast.dump(parse(after.text)) == ast.dump(tree)
    except Unparsable:
        return None
    return after if same else None


def comments(
    source: Source, tree: ast.Module, findings: Iterable[Diagnostic]
) -> Iterator[TextEdit]:
    """Insertions, one for each statement.

    The comment goes to the last line of the statement's header: no earlier line is sure to end
    outside a string. A `noqa` that is there already gets the code.
    """
    lines = source.text.split("\n")
    headers = Headers(source.text, tree)
    codes: dict[int, set[str]] = defaultdict(set)
    for each in findings:
        codes[headers.lines(each.line)[-1]].add(each.code)
    for line in sorted(codes):
        text = lines[line - 1]
        wanted = ", ".join(sorted(codes[line]))
        present = _NOQA.search(text)
        if present is not None:
            column = present.end() + 1
            yield TextEdit(line, column, line, column, f", {wanted}")
        else:
            column = len(text.rstrip()) + 1
            yield TextEdit(line, column, line, len(text) + 1, f"  # noqa: {wanted}")
