#!/usr/bin/env python3
"""Runs the commands of examples/README.md, and compares what they print with what stands there.

    python3 examples/gallery.py [--programs build/host/examples] [--library build/host/libsyncfree_ilu.so] [--write]
                                [--pictures]

--write puts the output into README.md instead; --pictures draws the solutions into examples/pictures, for which NumPy,
Pillow and matplotlib are needed. Words are compared, and whole numbers but for one in a hundred; residuals and errors
are not: they depend on compilers and PETSc's version. Without --write it ends with `RESULT passed failed skipped`.
"""

import argparse
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "examples/README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")
# options that make a program write its solution
WRITE = {"bratu": "-snes_view_solution", "reaction": "-ts_view_solution", "flow": "-ts_view_solution"}


class Place:
    """A folder like build/host/examples, where the commands run as they stand on the page."""

    def __init__(self, folder, programs, library):
        self.work = folder / "build/host/examples"
        self.work.mkdir(parents=True)
        for name in ("include", "examples"):
            (folder / name).symlink_to(ROOT / name)
        (folder / "build/host/libsyncfree_ilu.so").symlink_to(library.resolve())
        for path in programs.iterdir():
            if path.is_file() and os.access(path, os.X_OK):
                (self.work / path.name).symlink_to(path.resolve())
        self.env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", L="../libsyncfree_ilu.so")
        self.env["OMPI_MCA_orte_create_session_dirs"] = "1"  # for mpiexec, see config/setup.sh
        self.env.pop("PETSC_OPTIONS", None)
        if os.geteuid() == 0:
            self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.work, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        text = re.sub(" +$", "", done.stdout, flags=re.M)
        return text if done.returncode == 0 else f"{text}exit status {done.returncode}\n"


def alike(there, here):
    """Whether the words are the same and the whole numbers nearly."""
    pairs = zip(NUMBER.findall(there), NUMBER.findall(here))
    counts = [(int(a), int(b)) for a, b in pairs if a.isdigit() and b.isdigit()]
    return NUMBER.sub("#", there) == NUMBER.sub("#", here) and all(abs(a - b) <= max(1, a // 100) for a, b in counts)


def compare(place, text):
    """(command, what stands on the page, what is printed)"""
    for block in BLOCK.findall(text):
        for command, there in COMMAND.findall(block):
            yield command, there, place.run(command)


def with_outputs(place, text):
    return BLOCK.sub(lambda block: COMMAND.sub(lambda m: f"$ {m[1]}\n{place.run(m[1])}", block[0]), text)


def solution(place, text, name):
    """What the first command of the program computes, as an array."""
    import numpy  # noqa: PLC0415  (for pictures only)

    command = re.search(rf"^\$ (\./{name} (?:[^|\n]*\\\n)*[^|\n]*)", text, re.M)[1]
    place.run(f"{command} {WRITE.get(name, '-ksp_view_solution')} binary:{name}.bin")
    data = (place.work / f"{name}.bin").read_bytes()  # class and length, then big-endian numbers
    grid = [int(n) for n in re.findall(r"-da_grid_\w (\d+)", command)]
    if not grid:  # points of a mesh inside the cube
        grid = 3 * [int(re.search(r"-mesh_cells (\d+)", command)[1]) - 1]
    return numpy.frombuffer(data, ">f8", int(numpy.frombuffer(data, ">i4", 2)[1]), 8).reshape(*grid[::-1], -1)


def draw_slice(axis, plane, title):
    image = axis.imshow(plane, origin="lower", extent=(0, 1, 0, 1), cmap="viridis", interpolation="bilinear")
    axis.set(title=title, xticks=(0, 1), yticks=(0, 1))
    axis.figure.colorbar(image, shrink=0.8)


def draw_middle(axis, u):
    draw_slice(axis, u[len(u) // 2, :, :, 0], "u at z = 1/2")


def draw_poisson(axis, u):
    draw_middle(axis, u)
    for line in (0.25, 0.5, 0.75):  # where the materials meet
        axis.axhline(line, color="white", linewidth=0.5)
        axis.axvline(line, color="white", linewidth=0.5)


def draw_convection(axis, u):
    import numpy  # noqa: PLC0415

    draw_slice(axis, u[len(u) // 2, :, :, 0], "u and the flow at z = 1/2")
    x, y = numpy.meshgrid(*2 * [numpy.linspace(0.08, 0.92, 8)])
    axis.quiver(x, y, x * (1 - x) * (1 - 2 * y), -y * (1 - y) * (1 - 2 * x), color="white", width=0.006)


def draw_elasticity(axis, u):
    import numpy  # noqa: PLC0415

    plane = u[:, u.shape[1] // 2, :, :]
    z, x = (c / (len(plane) - 1) for c in numpy.mgrid[0:len(plane), 0:len(plane)])
    scale = 0.25 / abs(plane).max()
    x, z = x + scale * plane[..., 0], z + scale * plane[..., 2]
    mesh = axis.pcolormesh(x, z, -plane[..., 2], cmap="viridis", shading="gouraud")
    for lines in ((x, z), (x.T, z.T)):
        axis.plot(*(c[:, ::2] for c in lines), color="white", linewidth=0.4)
    axis.set(title="sinking at y = 1/2, enlarged", xticks=(0, 1), yticks=(0, 1), aspect="equal")
    axis.figure.colorbar(mesh, shrink=0.8)


def draw_reaction(axis, u):
    draw_slice(axis, u[0, :, :, 0], "u at t = 1 near z = 0")


def draw_flow(axis, u):
    draw_slice(axis, u[0, :, :, 0], "density at the end")


DRAWN = {
    "poisson": draw_poisson,
    "convection": draw_convection,
    "elasticity": draw_elasticity,
    "mesh_diffusion": draw_middle,
    "mesh_convection": draw_middle,
    "bratu": draw_middle,
    "reaction": draw_reaction,
    "flow": draw_flow,
}


def without_picture(text):
    """Programs whose picture is not on the page, or not there."""
    for name in DRAWN:
        if f"](pictures/{name}.png)" not in text or not (ROOT / f"examples/pictures/{name}.png").is_file():
            yield name


def draw_all(place, text):
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415
    from PIL import Image  # noqa: PLC0415

    for name, draw in DRAWN.items():
        figure, axis = pyplot.subplots(figsize=(3.4, 2.8), layout="constrained")
        draw(axis, solution(place, text, name))
        memory = io.BytesIO()
        figure.savefig(memory, dpi=100)
        pyplot.close(figure)
        path = ROOT / f"examples/pictures/{name}.png"
        path.parent.mkdir(exist_ok=True)
        Image.open(memory).convert("RGB").quantize(128).save(path, optimize=True)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/host/examples")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/host/libsyncfree_ilu.so")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--pictures", action="store_true")
    options = parser.parse_args()
    text, failed, count = PAGE.read_text(encoding="utf-8"), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(pathlib.Path(folder), options.programs, options.library)
        if options.pictures:
            draw_all(place, text)
        if options.write:
            return PAGE.write_text(with_outputs(place, text), encoding="utf-8") and None
        for command, there, here in compare(place, text):
            same = alike(there, here)
            print(f"{'passed' if same else 'FAILED'}   {command}" + ("" if same else f"\n{here}"))
            failed, count = failed + (not same), count + 1
    missing = list(without_picture(text))
    print(f"{'FAILED' if missing else 'passed'}   pictures of all programs " + " ".join(missing))
    failed, count = failed + bool(missing), count + 1
    print(f"RESULT {count - failed} {failed} 0")
    return failed != 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
