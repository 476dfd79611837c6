"""Take from this process everything that reading a repository does not need: network, new programs, memory, privileges."""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SIGKILL = 9

# By machine: its audit number, clone, clone3, and the system calls that are refused (Linux: include/uapi/asm-generic/unistd.h,
# arch/x86/entry/syscalls/syscall_64.tbl): socket socketpair connect bind listen sendto sendmsg execve execveat ptrace
# process_vm_readv process_vm_writev io_uring_setup bpf unshare setns mount keyctl add_key request_key pidfd_open pidfd_getfd fork vfork
_CALLS = {
    "x86_64": (
        0xC000003E,
        56,
        435,
        (41, 53, 42, 49, 50, 44, 46, 59, 322, 101, 310, 311, 425, 321, 272, 308, 165, 250, 248, 249, 434, 438, 57, 58),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        435,
        (198, 199, 203, 200, 201, 206, 211, 221, 281, 117, 270, 271, 425, 280, 97, 268, 40, 219, 217, 218, 434, 438),
    ),
}
_CLONE_THREAD = 0x10000


def confine(*, seconds: int, memory: int) -> tuple[str, ...]:
    """Limit this process for good. Returns what could not be limited, one clause each, to be said in the report.

    `seconds` bound processor time, `memory` (bytes) the address space. Must come after all imports: other programs, and files
    that only the former user may read, are out of reach afterwards.
    """
    if not sys.platform.startswith("linux"):
        return ("the process that reads the repository has no limits on this system",)
    import resource  # noqa: PLC0415 - not there on every system

    missing: list[str] = []
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid() == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        except OSError as error:
            missing.append(f"it still runs as root ({error.strerror})")
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((_PR_SET_PDEATHSIG, _SIGKILL), (_PR_SET_DUMPABLE, 0), (_PR_SET_NO_NEW_PRIVS, 1)):
        libc.prctl(option, value, 0, 0, 0)
    if not _filter_calls(libc):
        missing.append("it could reach the network (no system call filter here)")
    return tuple(missing)


def room(more: int) -> Callable[[], AbstractContextManager[None]]:
    """What limits the memory (bytes) that a piece of work may take beyond what the process has; a tighter limit than that of `confine`, and lifted afterwards.

    Must be made before files are out of reach. Limits nothing where a process cannot tell its own size.
    """
    try:
        size = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return nullcontext
    import resource  # noqa: PLC0415 - not there on every system

    page = resource.getpagesize()

    @contextmanager
    def limited() -> Generator[None]:
        before, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = int(os.pread(size, 64, 0).split()[0]) * page + more
        resource.setrlimit(resource.RLIMIT_AS, (wanted if before == resource.RLIM_INFINITY else min(wanted, before), most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, most))

    return limited


def hide_environment() -> None:
    """Keep other processes of the same user from reading this one's environment, where a token may be."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """Install a seccomp filter that answers EPERM to the refused calls, to new processes and to calls of another architecture.

    Threads are allowed. clone3, whose flags a filter cannot see, is answered as by a kernel without it, so that clone is used.
    """
    machine = _CALLS.get(platform.machine())
    if machine is None:
        return False
    rows = _program(*machine)
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    header = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(program))
    done = libc.prctl(_PR_SET_SECCOMP, 2, ctypes.create_string_buffer(header), 0, 0)
    return done == 0 and _refused(libc)


def _program(architecture: int, clone: int, clone3: int, calls: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """The filter as BPF rows (code, jump if true, jump if false, operand); jumps count the rows that are skipped."""
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06  # LD|W|ABS, JEQ, JGE, JSET, RET
    allow, refuse, absent = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
    rows: list[tuple[int, str, str, int]] = [
        (load, "", "", 4),  # the architecture
        (equal, "", "refuse", architecture),
        (load, "", "", 0),  # the number of the call
        (at_least, "refuse", "", 0x40000000),  # the x32 numbers of x86_64
        *((equal, "refuse", "", call) for call in calls),
        (equal, "absent", "", clone3),
        (equal, "", "allow", clone),
        (load, "", "", 16),  # the flags of clone
        (any_bit, "allow", "refuse", _CLONE_THREAD),
        (answer, "", "", allow),
        (answer, "", "", refuse),
        (answer, "", "", absent),
    ]
    labels = {"allow": len(rows) - 3, "refuse": len(rows) - 2, "absent": len(rows) - 1}

    def skip(at: int, label: str) -> int:
        return labels[label] - at - 1 if label else 0

    return [(code, skip(i, yes), skip(i, no), operand) for i, (code, yes, no, operand) in enumerate(rows)]


def _refused(libc: ctypes.CDLL) -> bool:
    """Try it: an internet socket must be refused."""
    ctypes.set_errno(0)
    return libc.socket(2, 1, 0) == -1 and ctypes.get_errno() == errno.EPERM
