"""Docstrings on their way from numpydoc to Sphinx."""

import re


def without_markup(app, what, name, obj, options, lines):
    """Attributes end in an underscore and norms have bars: in running text both are no markup.

    Runs after numpydoc; what stands in backquotes, in bold or in examples is left as it is.
    """
    kept = r"``[^`]*``|`[^`]*`_?|\*\*[^*]*\*\*"
    for i, line in enumerate(lines):
        # scikit-learn's references to its own pages, in methods that are inherited
        line = lines[i] = re.sub(r":ref:`([^`<]*?) *<[^`]*>`", r"\1", line)
        if line.lstrip().startswith((">>>", "..", "| ")):
            continue
        parts = re.split(f"({kept})", line)
        for j in range(0, len(parts), 2):
            plain = re.sub(r"(?<![\w\\])([A-Za-z]\w*)_(?!\w)", r"\1\\_", parts[j])
            parts[j] = re.sub(r"(?<!\\)\|", r"\\|", plain)
        lines[i] = "".join(parts)
