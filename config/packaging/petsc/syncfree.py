"""Lets the configure of PETSc 3.26 build petsc-syncfree after PETSc. In PETSc's folder:

    ln -s /path/petsc-syncfree/config/packaging/petsc/syncfree.py config/BuildSystem/config/packages/
    ./configure --download-syncfree ...
    make all

`--download-syncfree` takes the tree that this file lies in (its last commit, where it is a git repository);
`--download-syncfree=F` takes an archive, a directory or a git repository. Library, headers and, if PETSc has petsc4py,
the Python module go where PETSc is. ../README.md says how programs get to know the PC types.
"""

import os

import config.package

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))


class Configure(config.package.CMakePackage):
    def __init__(self, framework):
        config.package.CMakePackage.__init__(self, framework)
        self.minCmakeVersion  = (3, 22, 0)
        self.gitcommit        = 'HEAD'
        self.download         = [('git://' if os.path.exists(os.path.join(ROOT, '.git')) else 'link://') + ROOT]
        self.downloaddirnames = ['petsc-syncfree']
        self.functions        = ['PCSyncFreeRegister']
        self.includes         = ['syncfree_petsc.h']
        self.liblist          = [['libsyncfree_ilu.a']]
        self.buildLanguages   = ['Cxx']
        self.minCxxVersion    = 'c++17'
        self.precisions       = ['single', 'double']
        self.usesopenmp       = 'yes'
        self.linkedbypetsc    = 0
        self.builtafterpetsc  = 1
        self.providesDocs     = 1
        self.docsDirs         = ['plugin']

    def setupDependencies(self, framework):
        config.package.CMakePackage.setupDependencies(self, framework)
        self.mpi             = framework.require('config.packages.MPI', self)
        self.blasLapack      = framework.require('config.packages.BlasLapack', self)
        self.cuda            = framework.require('config.packages.CUDA', self)
        self.petsc4py        = framework.require('config.packages.petsc4py', self)
        self.sharedLibraries = framework.require('PETSc.options.sharedLibraries', self)
        self.deps            = [self.blasLapack]
        self.odeps           = [self.mpi, self.cuda, self.petsc4py]

    def cmakeArguments(self, prefix, petsc):
        '''Compilers are those of PETSc. Optimization flags are not: the library's own default is Release.'''
        args = ['-DCMAKE_INSTALL_PREFIX=' + prefix, '-DCMAKE_INSTALL_LIBDIR=lib', '-DSYNCFREE_KOKKOS=OFF', petsc]
        for language, name in (('C', 'C'), ('Cxx', 'CXX')):
            with self.Language(language):
                args.append('-DCMAKE_' + name + '_COMPILER="' + self.getCompiler() + '"')
        if self.cuda.found:
            with self.Language('CUDA'):
                args += ['-DSYNCFREE_CUDA=ON', '-DCMAKE_CUDA_COMPILER="' + self.getCompiler() + '"']
            args += self.cuda.getCmakeCUDAArchFlag()
        else:
            args.append('-DSYNCFREE_CUDA=OFF')
        if self.petsc4py.found:
            args.append('-DSYNCFREE_PYTHON_DIR=lib')  # where petsc4py is
        if 'download-syncfree-cmake-arguments' in self.framework.clArgDB:
            args.append(self.argDB['download-syncfree-cmake-arguments'])
        return ' '.join(args)

    def Install(self):
        if not self.checkSharedLibrariesEnabled():
            raise RuntimeError('petsc-syncfree needs a PETSc with shared libraries')
        if not self.cmake.found:
            raise RuntimeError('petsc-syncfree needs CMake: rerun configure with --download-cmake')
        # these rules of PETSc's makefile run at the end of `make all`, or of `make install` where there is a prefix
        if self.argDB['prefix'] and 'package-prefix-hash' not in self.argDB:
            prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
            petsc  = '-DPETSC_DIR=' + prefix + ' -DPETSC_ARCH='
        else:
            prefix = os.path.join(self.petscdir.dir, self.arch)
            petsc  = '-DPETSC_DIR=' + self.petscdir.dir + ' -DPETSC_ARCH=' + self.arch
        lib   = os.path.join(prefix, 'lib')
        build = os.path.join(self.externalPackagesDir, 'build.syncfree')
        cmake = self.cmake.cmake
        self.include = [os.path.join(prefix, 'include')]
        self.lib     = [os.path.join(lib, 'libsyncfree_ilu.a')]
        self.addPost(self.packageDir, [
            'rm -rf ' + build,  # a build folder remembers the PETSc that it was made for
            cmake + ' -S . -B ' + build + ' ' + self.cmakeArguments(prefix, petsc),
            cmake + ' --build ' + build + ' -j ' + str(self.make.make_np),
            cmake + ' --install ' + build,
            # the name by which a PETSc with the lines of reg.c (petsc.patch) looks for it
            'ln -sf libsyncfree_ilu.{0} {1}/libpetscsyncfree_ilu.{0}'.format(self.setCompilers.sharedLibraryExt, lib),
        ])
        program = cmake + ' --build ' + build + ' --target poisson && ' + os.path.join(build, 'examples', 'poisson')
        self.addMakeCheck(self.packageDir, program + ' -dll_append ' + os.path.join(lib, 'libsyncfree_ilu.so') +
                          ' -pc_type syncfree_ilu -ksp_error_if_not_converged')
        return self.installDir
