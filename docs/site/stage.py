"""The documents as the pages of the site: with the links of the tree, so that every page has the same neighbours."""
import pathlib
import re
import shutil

# Files that are pages. The sources and folders that these link to become pages too, with their text.
DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/guide/*.md", "docs/reference/*.md",
             "docs/internals/*.md", "examples/README.md", "models/zoo/README.md"]
ASSETS = ["docs/images/*", "docs/reference/plots/*"]
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "c", ".py": "python", ".sh": "sh", ".yml": "yaml", ".json": "json", ".js": "js",
             ".txt": "cmake"}


def _source_page(tree, target):
    """Of a file: its text; of a folder: the names in it."""
    name = target.relative_to(tree).as_posix()
    if target.is_dir():
        entries = "\n".join(f"- `{name}/{each.name}`" for each in sorted(target.iterdir()))
        return f"# {name}\n\nA folder of the source tree:\n\n{entries}\n"
    text, fence = target.read_text(), "````"
    return f"# {name}\n\n{fence}{LANGUAGES.get(target.suffix, 'text')}\n{text}{fence}\n"


def _fences(text):
    """Words after the language of a block steer the tests; only the name of a file is shown."""
    text = re.sub(r"(?m)^```(\w+) file (\S+)$", r'```\1 title="\2"', text)
    return re.sub(r"(?m)^```(\w+) (?:run|export)(?: long)?$", r"```\1", text)


def _lists(text):
    """GitHub starts a list after a line of text, Markdown's first rules only after an empty one."""
    out, code, before = [], False, ""
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if not code and re.match(r"(- |\d+\. )", line) and before and not re.match(r"(\s|- |\d+\. )", before):
            if not out or not any(re.match(r"(- |\d+\. )", each) for each in _paragraph(out)):
                out.append("")
        out.append(line)
        before = line
    return "\n".join(out)


def _paragraph(lines):
    """The last lines without an empty one between them."""
    found = []
    for line in reversed(lines):
        if not line:
            break
        found.append(line)
    return found


def _links(tree, page, text, sources):
    def link(match):
        target, _, anchor = match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        path = (page.parent / target).resolve()
        if path.suffix == ".md" or path.suffix in (".jpg", ".png", ".svg", ".webp"):
            return match[0]
        sources.add(path)
        return f"{match[1]}({target.rstrip('/')}.md)"

    parts = re.split(r"(?ms)(^```.*?^```)", text)
    return "".join(part if part.startswith("```") else re.sub(r"(\])\(([^)\s]+)\)", link, part) for part in parts)


def stage(tree, pages):
    """Fills the folder `pages` from the tree. Returns the names of the source pages."""
    shutil.rmtree(pages, ignore_errors=True)
    sources = set()
    for pattern in DOCUMENTS:
        for page in sorted(tree.glob(pattern)):
            to = pages / page.relative_to(tree)
            to.parent.mkdir(parents=True, exist_ok=True)
            hidden = "---\nhide: [navigation, toc]\n---\n" if page.parent == tree and page.name == "README.md" else ""
            to.write_text(hidden + _lists(_fences(_links(tree, page, page.read_text(), sources))))
    sources |= {each for each in (tree / "examples").glob("*/*") if each.is_file()}
    for target in sorted(sources):
        to = pages / (target.relative_to(tree).as_posix() + ".md")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(_source_page(tree, target))
    for pattern in ASSETS:
        for file in tree.glob(pattern):
            to = pages / file.relative_to(tree)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
    return sorted(each.relative_to(tree).as_posix() for each in sources)
