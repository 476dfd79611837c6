"""Take from this process everything that reading a repository does not need: network, new programs, memory, privileges."""

import ctypes
import errno
import os
import platform
import resource
import struct
import sys

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SIGKILL = 9

# System calls that are refused, by machine (Linux: include/uapi/asm-generic/unistd.h, arch/x86/entry/syscalls/syscall_64.tbl):
# socket socketpair connect bind listen sendto sendmsg execve execveat ptrace process_vm_readv process_vm_writev
# io_uring_setup bpf unshare setns mount keyctl add_key request_key pidfd_open pidfd_getfd fork vfork
_CALLS = {
    "x86_64": (
        0xC000003E,
        (41, 53, 42, 49, 50, 44, 46, 59, 322, 101, 310, 311, 425, 321, 272, 308, 165, 250, 248, 249, 434, 438, 57, 58),
    ),
    "aarch64": (
        0xC00000B7,
        (198, 199, 203, 200, 201, 206, 211, 221, 281, 117, 270, 271, 425, 280, 97, 268, 40, 219, 217, 218, 434, 438),
    ),
}


def confine(*, seconds: int, memory: int) -> tuple[str, ...]:
    """Limit this process for good. Returns what could not be limited, one clause each, to be said in the report.

    `seconds` bound processor time, `memory` (bytes) the address space. Must come after all imports: other programs, and files
    that only the former user may read, are out of reach afterwards.
    """
    if not sys.platform.startswith("linux"):
        return ("the process that reads the repository has no limits on this system",)
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


def hide_environment() -> None:
    """Keep other processes of the same user from reading this one's environment, where a token may be."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """Install a seccomp filter that answers EPERM to the refused calls, and to calls of another architecture."""
    machine = _CALLS.get(platform.machine())
    if machine is None:
        return False
    architecture, calls = machine
    load, jump_equal, jump_over, answer = 0x20, 0x15, 0x35, 0x06  # BPF: LD|W|ABS, JMP|JEQ|K, JMP|JGE|K, RET|K
    refuse, allow = 0x00050000 | errno.EPERM, 0x7FFF0000
    rows = [(load, 0, 0, 4), (jump_equal, 1, 0, architecture), (answer, 0, 0, refuse), (load, 0, 0, 0)]
    rows.append((jump_over, len(calls), 0, 0x40000000))  # the x32 numbers of x86_64
    rows += [(jump_equal, len(calls) - i, 0, call) for i, call in enumerate(calls[:-1])]
    rows.append((jump_equal, 1, 0, calls[-1]))
    rows += [(answer, 0, 0, allow), (answer, 0, 0, refuse)]
    code = b"".join(struct.pack("HBBI", *row) for row in _aimed(rows, len(calls)))
    program = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(program))
    done = libc.prctl(_PR_SET_SECCOMP, 2, ctypes.create_string_buffer(header), 0, 0)
    return done == 0 and _refused(libc)


def _aimed(rows: list[tuple[int, int, int, int]], calls: int) -> list[tuple[int, int, int, int]]:
    """Point every comparison with a call at the last row, which refuses."""
    first, last = 4, len(rows) - 1
    return [
        (code, last - i - 1, no, value) if first <= i <= first + calls else (code, yes, no, value)
        for i, (code, yes, no, value) in enumerate(rows)
    ]


def _refused(libc: ctypes.CDLL) -> bool:
    """Try it: an internet socket must be refused."""
    ctypes.set_errno(0)
    return libc.socket(2, 1, 0) == -1 and ctypes.get_errno() == errno.EPERM
