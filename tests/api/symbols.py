#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails if a library or object exports a name that it must not use.

usage: symbols.py NM KIND=FILE...    KIND is main, compat or malloc
"""

import pathlib
import re
import subprocess
import sys

OLDER_LIBRARIES = """
elr_mpl_init elr_mpl_finalize elr_mpl_create elr_mpl_create_ex elr_mpl_create_sync
elr_mpl_create_multi elr_mpl_create_multi_sync elr_mpl_create_multi_1 elr_mpl_create_multi_given_
elr_mpl_create_multi_list_ elr_mpl_avail elr_mpl_alloc elr_mpl_alloc_multi elr_mpl_size elr_mpl_free
elr_mpl_destroy
elr_atomic_inc elr_atomic_dec elr_mtx_init elr_mtx_lock elr_mtx_unlock elr_mtx_finalize
ALLOC_Init ALLOC_Term ALLOC_Alloc ALLOC_Calloc ALLOC_Free
XALLOC_Alloc XALLOC_Free XALLOC_Realloc XALLOC_Calloc
LK_Create LK_Destroy LK_Lock LK_Unlock FaultHandler
xalloc_init xalloc_destroy xalloc_stats xmalloc xfree xrealloc
""".split()

# The functions of a C library's malloc, and other calls that libeggbox-malloc.so replaces.
MALLOC = """
malloc calloc realloc reallocarray free free_sized free_aligned_sized cfree
aligned_alloc posix_memalign memalign valloc pvalloc
malloc_usable_size malloc_trim mallopt mallinfo mallinfo2 malloc_info malloc_stats
__libc_malloc __libc_free __libc_calloc __libc_realloc __libc_memalign __libc_valloc __libc_pvalloc
sigaction __sigaction signal bsd_signal ssignal sysv_signal __sysv_signal sigset
wait waitpid wait3 wait4 waitid
system popen pclose
__libc_start_main dlopen pthread_create thrd_create prctl unshare setns
abort exit quick_exit _exit _Exit
execl execle execlp execv execve execveat execvp execvpe fexecve
""".split()
NEW_AND_DELETE = r"_Zn[wa][mj](St11align_val_t)?(RKSt9nothrow_t)?" \
    r"|_Zd[la]Pv[mj]?(St11align_val_t)?(RKSt9nothrow_t)?"

ALLOWED = {
    "main": re.compile(r"egb_\w+"),
    "compat": re.compile("|".join([r"egb_\w+", *OLDER_LIBRARIES])),
    "malloc": re.compile("|".join([*MALLOC, NEW_AND_DELETE])),
}
# gcc adds these to position-independent objects for 32-bit x86, and to objects for Windows. They
# are not names of C.
COMPILERS_OWN = re.compile(r"__x86\.get_pc_thunk\.\w+|\.refptr\.\w+")


def exported(nm, file):
    """Returns the names to which a program or another library can link."""
    table = ["-D"] if ".so" in pathlib.Path(file).name else ["-g"]
    result = subprocess.run([nm, *table, "--defined-only", "-P", str(file)],
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{nm} cannot read {file}:\n{result.stderr}")
    # "name type value size"; the members of an archive are headed by "file[member]:".
    words = [line.split() for line in result.stdout.splitlines()]
    names = {word[0] for word in words if len(word) > 1 and len(word[1]) == 1}
    return {name for name in names if not COMPILERS_OWN.fullmatch(name)}


def problems(nm, kind, file):
    """Yields a text for each name that is not allowed."""
    names = exported(nm, file)
    if not names:
        yield f"{file}: exports nothing"
    for name in sorted(names):
        if not ALLOWED[kind].fullmatch(name):
            yield f"{file}: exports {name}, which is not allowed in {kind}"


def main():
    nm, files = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    found = [problem for kind, file in files for problem in problems(nm, kind, file)]
    print("\n".join(found) or f"{len(files)} files export allowed names only")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
