"""The pages of the C++ and C interface, from the XML that Doxygen makes of the public headers; and the list of Python's names."""
import ast
import re
import subprocess
import xml.etree.ElementTree as xml

SETTINGS = """
INPUT = {input}
OUTPUT_DIRECTORY = {output}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = MPM_API= MPM_C_API= __GNUC__=4 __cplusplus
STRIP_FROM_PATH = {input}
QUIET = YES
WARN_AS_ERROR = NO
WARN_IF_UNDOCUMENTED = NO
"""


def text_of(node):
    """A description in Markdown."""
    if node is None:
        return ""
    out = [_escaped(node.text)]
    for child in node:
        tag = child.tag
        if tag == "computeroutput":
            out.append(f"`{''.join(child.itertext())}`")
        elif tag == "parameterlist":
            title = {"param": "Parameters", "exception": "Throws"}.get(child.get("kind"), child.get("kind"))
            items = [f"- `{''.join(each.find('.//parametername').itertext())}`: {text_of(each.find('parameterdescription'))}"
                     for each in child]
            out.append(f"\n\n{title}:\n\n" + "\n".join(items) + "\n\n")
        elif tag == "simplesect":
            title = {"return": "Returns"}.get(child.get("kind"), child.get("kind"))
            out.append(f"\n\n{title}: {text_of(child).strip()}\n\n")
        elif tag == "para":
            out.append(text_of(child).strip() + ("\n\n" if node.tag not in ("parameterdescription",) else ""))
        elif tag in ("itemizedlist", "orderedlist"):
            out.append("\n\n" + "\n".join("- " + text_of(item).strip() for item in child) + "\n\n")
        else:
            out.append(text_of(child))
        out.append(_escaped(child.tail))
    return "".join(out)


def _escaped(text):
    return re.sub(r"([<*_\[\]])", r"\\\1", re.sub(r"\s+", " ", text or ""))


def _plain(node):
    return "".join(node.itertext()) if node is not None else ""


def _described(member):
    return (text_of(member.find("briefdescription")) + "\n\n" + text_of(member.find("detaileddescription"))).strip()


def _signature(member):
    kind, name = member.get("kind"), _plain(member.find("name"))
    if kind == "enum":
        values = ", ".join(_plain(value.find("name")) for value in member.findall("enumvalue"))
        return f"enum{' class' if member.get('strong') == 'yes' else ''} {name} {{ {values} }};"
    kind_of = re.sub(r"^(MPM_C?_?API|MPM_API) ", "", _plain(member.find("type")))
    initial = _plain(member.find("initializer"))
    if kind == "variable":
        return f"{kind_of} {name}{_plain(member.find('argsstring'))}{' ' + initial if initial else ''};"
    if kind == "define":
        return f"#define {name} {initial}"
    if kind == "typedef":
        return _plain(member.find("definition")) + ";"
    line = f"{kind_of} {name}{_plain(member.find('argsstring'))};".strip()
    return line if len(line) <= 100 else re.sub(r", ", ",\n    ", line)


def _member(member, level):
    name = _plain(member.find("name"))
    notes = [f"- `{_plain(value.find('name'))}`: {_described(value)}" for value in member.findall("enumvalue") if _described(value)]
    return "\n".join([f"{'#' * level} `{name}`", "", "```cpp", _signature(member), "```", "", _described(member), "", *notes, ""])


def _class(folder, identifier):
    """A class or a structure: its members are in a single block if they have no more than a line each."""
    found = xml.parse(folder / f"{identifier}.xml").getroot().find("compounddef")
    name = _plain(found.find("compoundname"))
    out = [f"## `{name}`", "", _described(found), ""]
    public = [member for part in found.findall("sectiondef") if part.get("kind", "").startswith("public")
              for member in part.findall("memberdef")]
    fields = [member for member in public if member.get("kind") == "variable"]
    if fields:
        out += ["| member | |", "|---|---|"]
        out += [f"| `{_signature(member).rstrip(';')}` | {' '.join(_described(member).split())} |".replace("||", "\\|\\|")
                for member in fields]
        out.append("")
    return "\n".join(out + [_member(member, 3) for member in public if member.get("kind") != "variable"])


def cpp_pages(tree, work, pages):
    """Writes a page for each public header. Returns (title, page)."""
    headers = tree / "mpm_layer/include/mpm"
    (work / "doxygen").mkdir(parents=True, exist_ok=True)
    (work / "Doxyfile").write_text(SETTINGS.format(input=headers, output=work / "doxygen"))
    subprocess.run(["doxygen", work / "Doxyfile"], check=True)
    folder, written = work / "doxygen/xml", []
    (pages / "api").mkdir(exist_ok=True)
    for file in xml.parse(folder / "index.xml").getroot().findall("compound[@kind='file']"):
        header = _plain(file.find("name"))
        found = xml.parse(folder / f"{file.get('refid')}.xml").getroot().find("compounddef")
        names = {each.get("refid") for each in found.findall("innerclass")}
        members = [member for part in found.findall("sectiondef") for member in part.findall("memberdef")]
        for space in found.findall("innernamespace"):
            inside = xml.parse(folder / f"{space.get('refid')}.xml").getroot().find("compounddef")
            members += [member for part in inside.findall("sectiondef") for member in part.findall("memberdef")
                        if member.find("location").get("file").endswith(header)]
        members = [each for each in members if not _plain(each.find("name")).startswith(("MPM_API", "MPM_C_API", "MPM_H"))]
        parts = sorted([(_line(folder, each, header), _class(folder, each)) for each in names] +
                       [(int(each.find("location").get("line")), _member(each, 2)) for each in members], key=lambda part: part[0])
        first = re.match(r"(?s)(//[^\n]*\n)+|/\*.*?\*/", (headers / header).read_text())
        about = " ".join(re.sub(r"^(//+|/\*|\s\*/?)|\*/$", "", line).strip() for line in (first[0] if first else "").split("\n"))
        (pages / f"api/{header}.md").write_text(
            f"# `<mpm/{header}>`\n\n{_escaped(about)}\n\n" + "\n".join(text for _, text in parts))
        written.append((header, f"api/{header}.md"))
    return written


def _line(folder, identifier, header):
    place = xml.parse(folder / f"{identifier}.xml").getroot().find("compounddef/location")
    return int(place.get("line")) if place.get("file").endswith(header) else 0


def python_page(tree, pages):
    """Names of the package's __all__, for mkdocstrings."""
    module = ast.parse((tree / "python/mpm/__init__.py").read_text())
    names = next(ast.literal_eval(node.value) for node in module.body if isinstance(node, ast.Assign) and
                 node.targets[0].id == "__all__")
    first = ["Model", "Result", "Times", "from_timm", "from_torch", "from_transformers", "convert", "info", "bench", "evaluate"]
    names = [name for name in first if name in names] + sorted(set(names) - set(first), key=str.lower)
    (pages / "api").mkdir(exist_ok=True)
    (pages / "api/python.md").write_text(
        "# The package `mpm`\n\n[The guide](../docs/guide/python.md) has examples.\n\n" +
        "\n".join(f"::: mpm.{name}\n" for name in names))
