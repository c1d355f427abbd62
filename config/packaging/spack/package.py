# Spack's package, for repos/spack_repo/builtin/packages/petsc_syncfree/ or a repository of one's own. There is no
# archive to download yet: `spack dev-build petsc-syncfree@0.1.0` in the source tree. Not tried with Spack;
# ../README.md says what was checked.
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class PetscSyncfree(CMakePackage, CudaPackage):
    """ILU, ICC and SOR preconditioners for PETSc that run in parallel on NVIDIA GPUs and on CPU threads."""

    license("BSD-2-Clause")

    version("0.1.0")

    variant("python", default=False, description="Install the Python module, for petsc4py")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("googletest", type="test")

    # one build serves one minor version: a dependency on petsc of type link has Spack rebuild it
    depends_on("petsc@3.18:3.26 +shared")
    depends_on("mpi", when="^petsc+mpi")
    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("petsc@3.20: +cuda")
        for arch in CudaPackage.cuda_arch_values:
            depends_on(f"petsc cuda_arch={arch}", when=f"cuda_arch={arch}")

    extends("python", when="+python")
    depends_on("py-petsc4py", type=("build", "run"), when="+python")
    depends_on("py-numpy", type=("build", "run"), when="+python")

    conflicts("%gcc@:9", when="+cuda", msg="PETSc's CUDA headers need C++20")

    def cmake_args(self):
        args = [
            self.define("PETSC_DIR", self.spec["petsc"].prefix),
            self.define("PETSC_ARCH", ""),
            self.define_from_variant("SYNCFREE_CUDA", "cuda"),
            self.define("SYNCFREE_KOKKOS", False),
            self.define("SYNCFREE_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        if self.spec.satisfies("+python"):
            args.append(self.define("SYNCFREE_PYTHON_DIR", python_platlib))
        return args
