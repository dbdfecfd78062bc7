"""Where the fixtures of this repository are, as they are on disk today."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
CASES = ROOT.parent / "shared" / "cases"

RULES = sorted(
    path
    for path in (FIXTURES / "rules").glob("*.py")
    if not path.name.endswith(".fixed.py") and path.name != "__init__.py"
)
FIXED = sorted((FIXTURES / "rules").glob("*.fixed.py"))
MODEL = sorted(path for path in (FIXTURES / "model").glob("*.py") if path.name != "__init__.py")
TUTORIALS = sorted((FIXTURES / "tutorials").glob("*.py"))
PROJECTS = sorted(path for path in (FIXTURES / "projects").glob("*") if path.is_dir())


def named(path: Path) -> str:
    """A short name of a file or folder for the name of a test."""
    for base in (ROOT, CASES):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.name
