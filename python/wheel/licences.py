#!/usr/bin/env python3
"""licences.py TREE PARTS OPENCV PROTOBUF: writes the licences of the libraries inside the wheel to PARTS/licenses, and a
bill of materials to PARTS/sboms. OPENCV and PROTOBUF: the folders of the sources of these libraries."""

import json
import pathlib
import re
import subprocess
import sys

# Debian's headers that are compiled in: package, name, licence.
HEADERS = [("libhwy-dev", "highway", "Apache-2.0"), ("libonnx-dev", "onnx", "Apache-2.0"),
           ("nlohmann-json3-dev", "nlohmann-json", "MIT"), ("libcli11-dev", "cli11", "BSD-3-Clause")]
# Libraries inside OpenCV: folder, file and pattern of the version, licence, files with the licence.
THIRD_PARTIES = [("libjpeg-turbo", "CMakeLists.txt", r"set\(VERSION (\S+)\)", "IJG AND BSD-3-Clause",
                  ["LICENSE.md", "README.ijg"]),
                 ("libpng", "png.h", r'PNG_LIBPNG_VER_STRING "([0-9.]+)"', "libpng-2.0", ["LICENSE"]),
                 ("zlib", "zlib.h", r'ZLIB_VERSION "(\S+)"', "Zlib", ["LICENSE"]),
                 ("libwebp", "src/dec/vp8i_dec.h", r"DEC_M\w+_VERSION (\d+)", "BSD-3-Clause", ["COPYING"])]


def licences(opencv, protobuf):
    """Returns the text of each library's licence."""
    texts = {"OpenCV": (opencv / "LICENSE").read_bytes(), "protobuf": licence_of(protobuf)}
    for name, _, _, _, files in THIRD_PARTIES:
        texts[name] = b"\n".join((opencv / "3rdparty" / name / file).read_bytes() for file in files)
    for package, name, _ in HEADERS:
        texts[name] = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()
    return texts


def licence_of(protobuf):
    """Returns the licence from the top of a source file, because the source package has no licence file."""
    text = (protobuf / "google/protobuf/message.cc").read_text()
    return "".join(line[2:].lstrip(" ") + "\n" for line in text.split("\n\n")[0].splitlines()).encode()


def debian_version(package):
    """Returns the version without Debian's additions."""
    shown = ["dpkg-query", "--show", "--showformat=${source:Upstream-Version}", package]
    return re.sub(r"[+~]ds.*", "", subprocess.run(shown, check=True, capture_output=True, text=True).stdout)


def components(opencv, protobuf):
    """Returns name, version and licence of every library in libmpm_core.so."""
    header = (opencv / "modules/core/include/opencv2/core/version.hpp").read_text()
    numbers = [re.search(rf"CV_VERSION_{part}\s+(\d+)", header).group(1) for part in ("MAJOR", "MINOR", "REVISION")]
    stubs = protobuf / "google/protobuf/stubs/common.h"
    number = int(re.search(r"GOOGLE_PROTOBUF_VERSION (\d+)", stubs.read_text()).group(1))
    found = [("opencv", ".".join(numbers), "Apache-2.0"),
             ("protobuf", f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}", "BSD-3-Clause")]
    for name, file, line, licence, _ in THIRD_PARTIES:
        versions = re.findall(line, (opencv / "3rdparty" / name / file).read_text())
        found.append((name, ".".join(versions), licence))
    return found + [(name, debian_version(package), licence) for package, name, licence in HEADERS]


def bill_of_materials(tree, opencv, protobuf):
    version = re.search(r"project\(mpm VERSION (\S+)", (tree / "CMakeLists.txt").read_text()).group(1)
    entries = [{"type": "library", "name": name, "version": number,
                "licenses": [{"expression": licence}]} for name, number, licence in components(opencv, protobuf)]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "library", "name": "mpm-vit", "version": version}}, "components": entries}
    return json.dumps(bill, indent=1) + "\n"


def main(tree, parts, opencv, protobuf):
    for folder in ("licenses", "sboms"):
        (parts / folder).mkdir(exist_ok=True)
    for name, text in licences(opencv, protobuf).items():
        (parts / "licenses" / f"LICENSE-{name}.txt").write_bytes(text)
    (parts / "sboms/mpm.cdx.json").write_text(bill_of_materials(tree, opencv, protobuf))


if __name__ == "__main__":
    main(*(pathlib.Path(argument) for argument in sys.argv[1:]))
