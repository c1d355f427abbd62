#!/usr/bin/env python3
"""Makes the files of a release from the commit at hand: a source archive, which needs no git to be built, an SBOM of
what a built library links (SPDX 2.3, JSON), and the sums of both.

    python3 config/release.py FOLDER --library build/host/libsyncfree_ilu.so

FOLDER gets petsc-syncfree-VERSION.tar.gz, petsc-syncfree-VERSION.spdx.json and SHA256SUMS. The archive is that of the
commit, byte for byte in each run. Stops if files of the tree are changed or not committed, or if CMakeLists.txt,
CITATION.cff and CHANGELOG.md do not have one version; --unreleased lets CHANGELOG.md have no date yet. Versions in the
SBOM are those of Debian's packages; a file of no package has none.
"""

import argparse
import datetime
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "petsc-syncfree"


def output(*command, check=True):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=check,
                          text=True).stdout


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def released_version(unreleased):
    """The version, if all files agree."""
    version = re.search(r"project\(syncfree VERSION ([\d.]+)", read("CMakeLists.txt"))[1]
    if f"\nversion: {version}\n" not in read("CITATION.cff"):
        sys.exit(f"CITATION.cff has not the version {version} of CMakeLists.txt")
    dated = re.search(rf"^## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d$", read("CHANGELOG.md"), re.M)
    if not dated and not unreleased:
        sys.exit(f"CHANGELOG.md has no line `## {version} - YEAR-MONTH-DAY`; --unreleased makes the files without")
    return version


def make_archive(path, prefix):
    """A tar file of the commit; gzip's time stamp is left out, for it would differ in each run."""
    tar = subprocess.run(["git", "archive", "--format=tar", f"--prefix={prefix}/", "HEAD"], cwd=ROOT,
                         stdout=subprocess.PIPE, check=True).stdout
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(tar)


def linked_libraries(library):
    """Name and file of each library that the library itself names; no file if it is not found here."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))
    listed = output("ldd", library)
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M))
    found.update((path.rsplit("/", 1)[1], path) for path in re.findall(r"^\s*(/\S+) \(", listed, re.M))
    return [(name, found.get(name)) for name in needed]


def debian_package(file):
    """Name and version, or None. Packages list files by the folders before /usr was merged, or by those after."""
    real = str(pathlib.Path(file).resolve())
    for path in (real, real.removeprefix("/usr"), file, file.removeprefix("/usr")):
        owner = output("dpkg", "-S", path, check=False).split(":")[0]
        if owner:
            return owner, output("dpkg-query", "-W", "-f", "${Version}", owner).strip()
    return None


def describe_package(number, name, version, **more):
    package = {"SPDXID": f"SPDXRef-{number}", "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
               "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION"}
    if version:
        package["versionInfo"] = version
    return {**package, **more}


def make_sbom(version, library, commit, when):
    own = describe_package(0, NAME, version, licenseDeclared="BSD-2-Clause", sourceInfo=f"commit {commit}", checksums=[
        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(library.read_bytes()).hexdigest()}])
    packages = [own]
    for number, (name, file) in enumerate(linked_libraries(library), 1):
        package = debian_package(file) if file else None
        other = f"no package has {file}" if file else "not found here"
        comment = f"Debian's package {package[0]}" if package else other
        packages.append(describe_package(number, name, package and package[1], comment=comment))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "DYNAMIC_LINK", package["SPDXID"]) for package in packages[1:]]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{library.name} of {NAME} {version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{NAME}-{version}-{commit}",
        "creationInfo": {"created": when, "creators": ["Tool: config/release.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b}
                          for a, how, b in relations],
    }


def make_release():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--unreleased", action="store_true")
    options = parser.parse_args()
    if not (ROOT / ".git").exists():
        sys.exit(f"{ROOT} is no git repository, of which the archive would be made")
    changed = output("git", "status", "--porcelain")
    if changed:
        sys.exit(f"not committed:\n{changed}")
    if not options.library.is_file():
        sys.exit(f"no file {options.library}: build the library first")
    version = released_version(options.unreleased)
    commit, seconds = output("git", "show", "-s", "--format=%H %ct", "HEAD").split()
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    options.folder.mkdir(parents=True, exist_ok=True)
    archive, sbom = (options.folder / f"{NAME}-{version}{end}" for end in (".tar.gz", ".spdx.json"))
    make_archive(archive, f"{NAME}-{version}")
    sbom.write_text(json.dumps(make_sbom(version, options.library.resolve(), commit, when), indent=2) + "\n",
                    encoding="utf-8")
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (archive, sbom))
    (options.folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")


def main():
    try:
        make_release()
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is not installed")
    except subprocess.CalledProcessError as error:
        sys.exit(f"this failed: {' '.join(map(str, error.cmd))}")


if __name__ == "__main__":
    main()
