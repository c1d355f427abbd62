"""Puts numbers into a page that people write: into rows of its tables, and into its sentences."""

import re
import sys


def fill_rows(text, page, makers):
    """makers: first cell of a row -> function from the cells of the row to those of the new one."""
    found = []

    def row(line):
        cells = [cell.strip() for cell in line[0].strip("|").split("|")]
        if cells[0] not in makers:
            return line[0]
        found.append(cells[0])
        return "| " + " ".join(f"{cell} |" if cell else "|" for cell in makers[cells[0]](cells))

    text = re.sub(r"^\|.*\|$", row, text, flags=re.M)
    for label in makers:
        if found.count(label) != 1:
            sys.exit(f"error: {page} must have one row '{label}', whose numbers are filled in, "
                     f"and has {found.count(label)}")
    return text


def fill_sentences(text, page, sentences):
    """sentences: words with {N} for each number or file -> function that returns as many."""
    for sentence, values in sentences.items():
        pattern = re.escape(sentence).replace(r"\{N\}", r"([\w.,]*\w)").replace(r"\ ", r"\s+")
        found = re.search(pattern, text)
        if not found:
            sys.exit(f"error: {page} has not the words '{sentence}', whose numbers are filled in")
        made = found[0]
        for group, value in reversed(list(enumerate(values(), 1))):
            begin, end = (place - found.start() for place in found.span(group))
            made = made[:begin] + str(value) + made[end:]
        text = text[: found.start()] + made + text[found.end():]
    return text
