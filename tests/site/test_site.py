"""The parts of `./run docs` that need no package of pip: pages of the tree's documents, and the check of the written files."""
import pathlib
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "docs/site"))
import build  # noqa: E402
import figures  # noqa: E402
import interface  # noqa: E402
import stage  # noqa: E402


class Site(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_pages_have_no_words_for_tests_and_no_links_to_sources(self):
        sources = stage.stage(TREE, self.folder)
        self.assertIn("examples/cpp/main.cpp", sources)
        for page in self.folder.rglob("*.md"):
            if page.relative_to(self.folder).as_posix().removesuffix(".md") in sources:
                continue
            for line in page.read_text().splitlines():
                self.assertNotRegex(line, r"^```\w+ (run|file|export)", page)
        program = (self.folder / "docs/guide/program.md").read_text()
        self.assertIn('```cpp title="main.cpp"', program)
        self.assertIn("(../../examples/cpp/main.cpp.md)", program)
        self.assertIn("int main", (self.folder / "examples/cpp/main.cpp.md").read_text())

    def test_every_document_is_in_the_navigation(self):
        navigation = (TREE / "docs/site/mkdocs.yml").read_text()
        for page in [*TREE.glob("docs/guide/*.md"), *TREE.glob("docs/reference/*.md")]:
            self.assertIn(page.relative_to(TREE).as_posix(), navigation)

    def test_benchmarks_show_every_engine_and_model(self):
        figures.benchmarks(TREE, self.folder)
        text = (self.folder / "benchmarks.md").read_text()
        for word in ("ONNX Runtime, f32", "OpenVINO, int8", "**MPM, int8, merged**", "ViT-S/16"):
            self.assertIn(word, text)

    def test_the_gallery_has_the_images_of_the_documents(self):
        stage.stage(TREE, self.folder)
        figures.gallery(TREE, self.folder)
        text = (self.folder / "gallery.md").read_text()
        self.assertIn("docs/images/front.webp", text)
        self.assertIn("docs/reference/plots/tokens.svg", text)

    def test_python_names_are_those_of_the_package(self):
        interface.python_page(TREE, self.folder)
        text = (self.folder / "api/python.md").read_text()
        for name in ("Model", "Result", "convert", "register"):
            self.assertIn(f"::: mpm.{name}\n", text)

    def test_missing_files_and_foreign_addresses_are_found(self):
        page = self.folder / "page.html"
        page.write_text('<img src="here.png"><a href="https://example.org/">a</a><code><img src="code.png"></code>')
        (self.folder / "here.png").touch()
        self.assertEqual(list(build.check(self.folder)), [])
        for text in ('<img src="gone.png">', '<script src="https://example.org/a.js"></script>',
                     '<link rel="stylesheet" href="//example.org/a.css">'):
            page.write_text(text)
            self.assertEqual(len(list(build.check(self.folder))), 1, text)
        page.write_text("")
        (self.folder / "a.css").write_text("a { background: url('https://example.org/a.png') }")
        self.assertEqual(len(list(build.check(self.folder))), 1)


if __name__ == "__main__":
    unittest.main()
