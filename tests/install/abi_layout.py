"""abi_layout.py RELEASE.abi NOW.abi: every public struct and enum of the release has the same size and members now.

abidiff compares only types that a function's signature reaches by value; elements of vectors are compared here.
"""
import sys
import xml.etree.ElementTree as xml


def layouts(path):
    root = xml.parse(path).getroot()
    names = {}
    for element in root.iter():
        if "id" in element.attrib:
            inner = element.get("type-id")
            names[element.get("id")] = (element.tag, element.get("name"), inner)

    def type_name(key):
        tag, name, inner = names[key]
        return name or tag + " of " + type_name(inner)

    found = {}

    def walk(element, scope):
        for child in element:
            if child.tag == "namespace-decl":
                walk(child, scope + child.get("name") + "::")
            elif child.tag == "class-decl" and child.get("is-declaration-only") != "yes":
                members = [
                    (member.get("layout-offset-in-bits"), variable.get("name"), type_name(variable.get("type-id")))
                    for member in child.findall("data-member") for variable in member.findall("var-decl")
                ]
                found[scope + child.get("name")] = (child.get("size-in-bits"), members)
            elif child.tag == "enum-decl":
                values = [(value.get("name"), value.get("value")) for value in child.findall("enumerator")]
                found[scope + child.get("name")] = values
            if child.tag == "abi-instr":
                walk(child, "")

    walk(root, "")
    return {name: layout for name, layout in found.items() if name.startswith("mpm")}


release, now = map(layouts, sys.argv[1:])
if len(release) < 5:
    sys.exit(f"{sys.argv[1]}: hardly any types: {sorted(release)}")
different = [f"{name}: {layout} is now {now.get(name)}" for name, layout in release.items() if now.get(name) != layout]
if different:
    sys.exit("\n".join(different))
print(f"{len(release)} types")
