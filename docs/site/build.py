"""build.py TREE WORK: writes the site to WORK/html: the documents of TREE, the interfaces, benchmarks and a gallery.

Needs requirements.txt and doxygen. A warning is an error. The site needs no server and no network.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import figures
import interface
import stage

HERE = pathlib.Path(__file__).resolve().parent


def entry(title, page):
    return f"      - {title!r}: {page}\n"


def title_of(page):
    return re.search(r"(?m)^# (.*)", page.read_text())[1].replace("`", "")


def settings(work, pages, headers, sources):
    """mkdocs.yml with the written pages; sources are in the navigation behind the internals."""
    examples = entry("All examples", "examples/README.md") + "".join(
        entry(name.removeprefix("examples/"), name + ".md") for name in sources if name.startswith("examples/"))
    internals = "".join(entry(title_of(page), page.relative_to(pages).as_posix())
                        for page in [*sorted(pages.glob("docs/internals/*.md")), pages / "CONTRIBUTING.md", pages / "SECURITY.md",
                                     pages / "CHANGELOG.md"])
    internals += "      - Source files:\n" + "".join("    " + entry(name, name + ".md") for name in sources
                                                    if not name.startswith("examples/"))
    text = (HERE / "mkdocs.yml").read_text()
    text = text.replace("  - Examples: [] # written by build.py\n", "  - Examples:\n" + examples)
    text = text.replace("      - C++ and C: [] # written by build.py\n",
                        "      - C++ and C:\n" + "".join("    " + entry(*header) for header in headers))
    text = text.replace("  - Internals: [] # written by build.py\n", "  - Internals:\n" + internals)
    text = text.replace("../../python", str(HERE.parents[1] / "python"))
    (work / "mkdocs.yml").write_text(text)


def check(html):
    """Problems of the written files: an address outside of the site, or a file that is missing."""
    for page in sorted(html.rglob("*.html")):
        text = re.sub(r"(?s)<(code|pre)\b.*?</\1>", "", page.read_text())
        for tag, target in re.findall(r'<(script|img|link|iframe)\b[^>]*?(?:src|href)="([^"]+)"', text):
            if re.match(r"(https?:)?//", target):
                yield f"{page.relative_to(html)}: <{tag}> loads {target}"
            elif not target.startswith(("data:", "#")) and not (page.parent / target.split("#")[0].split("?")[0]).exists():
                yield f"{page.relative_to(html)}: <{tag}> {target} is missing"
    for style in html.rglob("*.css"):
        for target in re.findall(r"url\(['\"]?(https?://[^)'\"]+)", style.read_text()):
            yield f"{style.relative_to(html)}: loads {target}"


def main():
    tree, work = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    pages, html = work / "pages", work / "html"
    work.mkdir(parents=True, exist_ok=True)
    sources = stage.stage(tree, pages)
    headers = interface.cpp_pages(tree, work, pages)
    interface.python_page(tree, pages)
    figures.benchmarks(tree, pages)
    unused = figures.gallery(tree, pages)
    if unused:
        print("docs: not in the gallery, as no document shows them:", " ".join(unused))
    (pages / "docs/site").mkdir()
    for name in ("site.css", "iframe-worker.js"):
        shutil.copyfile(HERE / name, pages / "docs/site" / name)
    shutil.copyfile(tree / "assets/icons/mpm-monitor.svg", pages / "docs/site/logo.svg")
    settings(work, pages, headers, sources)
    shutil.rmtree(html, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", work / "mkdocs.yml"],
                          env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    (html / "404.html").unlink(missing_ok=True)  # only a server has use for it
    problems = list(check(html)) if done.returncode == 0 else []
    for problem in problems:
        print("docs:", problem, file=sys.stderr)
    if done.returncode or problems:
        sys.exit(1)
    print(f"docs: {len(list(html.rglob('*.html')))} pages, see {html}/index.html")


if __name__ == "__main__":
    main()
