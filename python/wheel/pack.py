#!/usr/bin/env python3
"""pack.py TREE PARTS: puts the Python files, the library that was built in PARTS and the shipped model into a wheel in TREE/dist,
with licences and a list of what is inside. The same files give the same bytes."""

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import zipfile

TAG = "py3-none-manylinux_2_35_x86_64"

# Debian's headers that are compiled in: package, name, licence.
HEADERS = [("libhwy-dev", "highway", "Apache-2.0"), ("libonnx-dev", "onnx", "Apache-2.0"),
           ("nlohmann-json3-dev", "nlohmann-json", "MIT"), ("libcli11-dev", "cli11", "BSD-3-Clause")]
# Libraries inside OpenCV: folder, file and line with the version, licence, its files.
THIRD_PARTIES = [("libjpeg-turbo", "CMakeLists.txt", r"set\(VERSION (\S+)\)", "IJG AND BSD-3-Clause",
                  ["LICENSE.md", "README.ijg"]),
                 ("libpng", "png.h", r'PNG_LIBPNG_VER_STRING "([0-9.]+)"', "libpng-2.0", ["LICENSE"]),
                 ("zlib", "zlib.h", r'ZLIB_VERSION "(\S+)"', "Zlib", ["LICENSE"]),
                 ("libwebp", "src/dec/vp8i_dec.h", r"DEC_M\w+_VERSION (\d+)", "BSD-3-Clause", ["COPYING"])]


def version_of(tree):
    return re.search(r"project\(mpm VERSION (\S+)", (tree / "CMakeLists.txt").read_text()).group(1)


def metadata(tree, version, licences):
    lines = (tree / "README.md").read_text()
    return (f"Metadata-Version: 2.4\nName: mpm-vit\nVersion: {version}\n"
            "Summary: Faster vision transformers on CPUs: token merging for OpenCV's DNN module\n"
            "License-Expression: Apache-2.0 AND BSD-3-Clause AND MIT AND IJG AND libpng-2.0 AND Zlib\n" +
            "".join(f"License-File: {name}\n" for name in licences) +
            "Requires-Python: >=3.10\nRequires-Dist: numpy>=1.26\n"
            "Description-Content-Type: text/markdown\n\n" + lines)


def licences(tree, parts):
    """Contents by name."""
    opencv = next((parts / "src").glob("opencv_python_headless-*/opencv"))
    protobuf = next((parts / "src").glob("grpcio-tools-*/third_party/protobuf"))
    files = {"LICENSE": (tree / "LICENSE").read_bytes(), "LICENSE-OpenCV.txt": (opencv / "LICENSE").read_bytes(),
             "LICENSE-protobuf.txt": licence_of(protobuf)}
    for name, _, _, _, texts in THIRD_PARTIES:
        files[f"LICENSE-{name}.txt"] = b"\n".join((opencv / "3rdparty" / name / text).read_bytes() for text in texts)
    for package, name, _ in HEADERS:
        files[f"LICENSE-{name}.txt"] = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()
    return files


def debian_version(package):
    """Without what Debian adds."""
    shown = ["dpkg-query", "--show", "--showformat=${source:Upstream-Version}", package]
    return re.sub(r"[+~]ds.*", "", subprocess.run(shown, check=True, capture_output=True, text=True).stdout)


def components(parts):
    """Name, version and licence of every library in libmpm_core.so."""
    opencv = next((parts / "src").glob("opencv_python_headless-*/opencv"))
    header = (opencv / "modules/core/include/opencv2/core/version.hpp").read_text()
    numbers = [re.search(rf"CV_VERSION_{part}\s+(\d+)", header).group(1) for part in ("MAJOR", "MINOR", "REVISION")]
    stubs = next((parts / "src").glob("grpcio-tools-*/third_party/protobuf/src/google/protobuf/stubs/common.h"))
    protobuf = int(re.search(r"GOOGLE_PROTOBUF_VERSION (\d+)", stubs.read_text()).group(1))
    found = [("opencv", ".".join(numbers), "Apache-2.0"),
             ("protobuf", f"{protobuf // 1000000}.{protobuf // 1000 % 1000}.{protobuf % 1000}", "BSD-3-Clause")]
    for name, file, line, licence, _ in THIRD_PARTIES:
        versions = re.findall(line, (opencv / "3rdparty" / name / file).read_text())
        found.append((name, ".".join(versions), licence))
    return found + [(name, debian_version(package), licence) for package, name, licence in HEADERS]


def bill_of_materials(parts, version):
    entries = [{"type": "library", "name": name, "version": number,
                "licenses": [{"expression": licence}]} for name, number, licence in components(parts)]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "library", "name": "mpm-vit", "version": version}}, "components": entries}
    return json.dumps(bill, indent=1) + "\n"


def files_of(tree, parts, version):
    """Contents by path in the wheel."""
    files = {}
    for path in sorted((tree / "python/mpm").glob("*.py")) + [tree / "python/mpm/py.typed"]:
        files["mpm/" + path.name] = path.read_bytes()
    files["mpm/libmpm_core.so"] = (parts / "mpm/python/mpm/libmpm_core.so").read_bytes()
    for path in sorted((tree / "models/zoo").glob("*")):
        if path.suffix == ".onnx" or path.name == "README.md":
            files["mpm/share/mpm/" + path.name] = path.read_bytes()
    info = f"mpm_vit-{version}.dist-info/"
    texts = licences(tree, parts)
    files[info + "METADATA"] = metadata(tree, version, texts).encode()
    files[info + "WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pack.py\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    files[info + "entry_points.txt"] = b"[console_scripts]\nmpm = mpm.command:main\n"
    for name, text in texts.items():
        files[info + "licenses/" + name] = text
    files[info + "sboms/mpm.cdx.json"] = bill_of_materials(parts, version).encode()
    return files, info


def licence_of(protobuf):
    """The text at the top of every file: the source package has no file with it."""
    text = (protobuf / "src/google/protobuf/message.cc").read_text()
    return "".join(line[2:].lstrip(" ") + "\n" for line in text.split("\n\n")[0].splitlines()).encode()


def main(tree, parts):
    version = version_of(tree)
    files, info = files_of(tree, parts, version)
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    (tree / "dist").mkdir(exist_ok=True)
    wheel = tree / "dist" / f"mpm_vit-{version}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, content)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
