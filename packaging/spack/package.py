# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: copy it to a local repository, as packages/torusmp/package.py.
from spack.package import *


class Torusmp(CMakePackage):
    """Message passing for clusters wired as a mesh or torus, for programs that use MPI or QMP."""

    # The recipe builds a working copy: spack dev-build torusmp@=0.1.0, in its folder.
    version("0.1.0")

    license("BSD-3-Clause")
    provides("mpi@:5.0")

    variant("verbs", default=True, description="RDMA between hosts")
    variant("pmix", default=True, description="Start by Slurm and other launchers with PMIx")
    variant("isal", default=True, description="Checksums by ISA-L")
    variant("uring", default=True, description="Files by io_uring")
    variant("fortran", default=True, description="The Fortran module mpi")
    variant("manual", default=True, description="Man pages and completions")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build", when="+manual")
    depends_on("boost+program_options")
    depends_on("fmt")
    depends_on("hwloc@2:")
    depends_on("libsodium")
    depends_on("tomlplusplus")
    depends_on("rdma-core", when="+verbs")
    depends_on("ucx", when="+verbs")
    depends_on("pmix", when="+pmix")
    depends_on("isa-l", when="+isal")
    depends_on("liburing", when="+uring")

    generator("ninja")

    def cmake_args(self):
        parts = ("verbs", "pmix", "isal", "uring", "fortran", "manual")
        args = [self.define_from_variant(f"TORUSMP_{part.upper()}", part) for part in parts]
        args += [self.define("CMAKE_UNITY_BUILD", True), self.define("CMAKE_UNITY_BUILD_BATCH_SIZE", 16)]
        return args

    def setup_run_environment(self, env):
        for variable, wrapper in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"),
                                  ("MPIFC", "mpifort"), ("MPIF77", "mpif77"), ("MPIF90", "mpif90")):
            env.set(variable, self.prefix.bin.join(wrapper))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers call the compilers of the package that uses them.
        for variable, compiler in (("TORUSMP_CC", "spack_cc"), ("TORUSMP_CXX", "spack_cxx"),
                                   ("TORUSMP_FC", "spack_fc")):
            if hasattr(dependent_spec.package.module, compiler):
                env.set(variable, getattr(dependent_spec.package.module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpifc = self.prefix.bin.mpifort
        self.spec.mpif77 = self.prefix.bin.mpif77
