#!/usr/bin/env python3
"""Makes plugin/MANUAL_PAGES.md from the manual pages in the comments of plugin/ (PETSc's form: /*MC and /*@).

    python3 config/manual_pages.py [--check]

--check writes nothing, and fails if the page is not what would be written.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "plugin" / "MANUAL_PAGES.md"
HEAD = """# Manual pages

Types and functions of this library, made by `config/manual_pages.py` from the comments in [plugin](.) that PETSc's own
documentation is made in. All options: [MANUAL.md](MANUAL.md#options).
"""
COMMENT = re.compile(r"/\*(?:MC|@C?)\n((?:.|\n)*?)(?:M|@)\*/\n(.*)")
HEADING = re.compile(r"^   ([A-Z][A-Za-z ]+):(.*)$")
ITEM = re.compile(r"^[+.-] +(.*?) +- (.*)$")


def anchor(name):
    return name.lower()


def line_of(text, names):
    """One line, with the functions and types that have a page of their own as links."""
    return re.sub(
        r"`(\w+)(\(\))?`", lambda m: f"[{m[0]}](#{anchor(m[1])})" if m[1] in names else m[0], text.strip()
    )


def body_of(comment, names):
    """Markdown of a comment without its first line."""
    out, in_items = [], False
    for line in comment.splitlines():
        item, heading = ITEM.match(line), HEADING.match(line)
        if item:
            out.append(f"- `{item[1]}`: {line_of(item[2], names)}")
            in_items = True
            continue
        if in_items and line.strip():
            out.append("")
        in_items = False
        if line.startswith(".seealso:"):
            others = re.sub(r"\[\]\(\w+\), *", "", line[len(".seealso:") :])
            out.append(f"See also: {line_of(others, names)}")
        elif heading:
            out += [f"**{heading[1]}:** {line_of(heading[2], names)}".rstrip(), ""]
        else:
            out.append(line_of(line, names))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def pages():
    """(name, summary, comment, declaration) of each page, by name."""
    found = []
    for path in sorted((ROOT / "plugin").glob("*.cpp")):
        for comment, code in COMMENT.findall(path.read_text(encoding="utf-8")):
            first, _, rest = comment.strip().partition("\n")
            name, summary = re.match(r'(\w+)(?: = "\w+")? - (.*)', first).groups()
            declared = re.match(rf"(?:PETSC_EXTERN )?(PetscErrorCode {name}\([^)]*\))", code)
            found.append((name, summary, rest, declared[1] if declared else None))
    return sorted(found)


def text():
    found = pages()
    names = {page[0] for page in found}
    parts = [HEAD]
    parts.append("| page | |\n| --- | --- |")
    parts[-1] += "".join(f"\n| [{name}](#{anchor(name)}) | {summary} |" for name, summary, _, _ in found) + "\n"
    for name, summary, comment, declared in found:
        code = f"\n```c\n{declared};\n```\n" if declared else ""
        parts.append(f"## {name}\n\n{summary}.\n{code}\n{body_of(comment, names)}\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    made = text()
    if not parser.parse_args().check:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != made:
        print(f"{PAGE.relative_to(ROOT)} is not what config/manual_pages.py makes: run it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
