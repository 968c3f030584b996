"""sbom.py FOLDER: writes FOLDER/mpm_VERSION.spdx.json, the bill of materials (SPDX 2.3) of the Debian packages in FOLDER.

It lists our packages with their digests, the Debian packages that they depend on, and the headers that were compiled into
them, each with the version of this machine. The time is SOURCE_DATE_EPOCH, so the same packages give the same bytes.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

# Libraries that have only headers. Programs contain their code, but no dependency of a package shows this.
HEADERS = {
    "libmpm0": ["nlohmann-json3-dev"],
    "libmpm-dev": ["nlohmann-json3-dev"],
    "mpm": ["nlohmann-json3-dev", "libcli11-dev"],
    "mpm-monitor": ["nlohmann-json3-dev"],
    "mpm-models": ["nlohmann-json3-dev", "libcli11-dev"],
    "python3-mpm": ["nlohmann-json3-dev"],
    "gstreamer1.0-mpm": ["nlohmann-json3-dev"],
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def field(deb, name):
    return output("dpkg-deb", "--field", str(deb), name)


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def distribution():
    lines = pathlib.Path("/etc/os-release").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return "-".join(values.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))


def package(name, version, licence, supplier, **more):
    return {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "supplier": supplier,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **more,
    }


def ours(deb):
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    return package(
        field(deb, "Package"), field(deb, "Version"), "Apache-2.0", "Organization: The MPM developers",
        packageFileName=deb.name, primaryPackagePurpose="INSTALL",
        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])


def debian(name):
    """A package of Debian, as it is installed here; else None."""
    query = subprocess.run(["dpkg-query", "-W", "-f=${Version} ${Architecture}", name], capture_output=True, text=True)
    words = query.stdout.split()
    if query.returncode != 0 or len(words) < 2:
        return None
    version, architecture = words[:2]
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}&distro={distribution()}"
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
    return package(name, version, "NOASSERTION", "Organization: Debian", externalRefs=[reference])


def depended(deb):
    """The names in Depends, the first of each choice."""
    entries = field(deb, "Depends").split(",")
    return sorted({re.match(r"\s*([^\s(:|]+)", entry).group(1) for entry in entries if entry.strip()})


def main(folder):
    debs = sorted(folder.glob("*.deb"))
    if not debs:
        sys.exit(f"sbom: no packages in {folder}")
    packages = {p["name"]: p for p in map(ours, debs)}
    own = set(packages)
    relationships = [["SPDXRef-DOCUMENT", "DESCRIBES", identifier(name)] for name in sorted(own)]
    for deb in debs:
        name = field(deb, "Package")
        for kind, others in (("DEPENDS_ON", depended(deb)), ("STATIC_LINK", HEADERS.get(name, []))):
            for other in others:
                found = packages.get(other) or debian(other)
                if found is None:
                    sys.exit(f"sbom: {name} needs {other}, which is not installed here")
                packages[other] = found
                relationships.append([identifier(name), kind, identifier(other)])
    version = field(debs[0], "Version")
    digests = "".join(packages[name]["checksums"][0]["checksumValue"] for name in sorted(own))
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"mpm-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digests)}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Organization: The MPM developers", f"Tool: mpm-sbom-{version}"],
        },
        "packages": [packages[name] for name in sorted(packages)],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relationships
        ],
    }
    path = folder / f"mpm_{version}.spdx.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(f"sbom: {path}: {len(own)} packages, {len(packages) - len(own)} that they use")


main(pathlib.Path(sys.argv[1]))
