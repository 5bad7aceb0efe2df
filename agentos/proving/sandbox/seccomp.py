"""Write the seccomp filter of system calls for untrusted code, as a BPF program.

It forbids what namespaces and limits leave open: memory that belongs to no process and
so is never counted, socket families that a network namespace does not isolate (such as
those to the host of a virtual machine), new namespaces, key rings, and large new kernel
interfaces, in which most sandbox escapes were found. Everything else is allowed.
"""

from __future__ import annotations

import errno
import platform
import struct

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of each processor in the tables, and the kernel's number for it."""

_REFUSED = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_ABSENT = {
    # A program that is told that these do not exist falls back to older calls, whose
    # memory and flags can be checked.
    "clone3": (435, 435),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
}
_CLONE = (56, 220)
_IOCTL = (16, 29)
_SOCKET = (41, 198)

_NAMESPACE_FLAGS = 0x7E020000
_TERMINAL_INPUT = (0x5412, 0x541C)
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4 and IPv6 (which reach nothing from an own network namespace), netlink."""
_FOREIGN_NUMBERS = 0x40000000

_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_JUMP_IF_ANY = 0x45
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000

_NUMBER = 0
_PROCESSOR = 4
_FIRST_ARGUMENT = 16
_SECOND_ARGUMENT = 24

Instruction = tuple[int, int, int, int]


def write_filter(machine: str = "") -> bytes:
    """Return the filter for a processor, by default this one; empty for an unknown
    one.
    """
    column, architecture = _ARCHITECTURES.get(machine or platform.machine(), (-1, 0))
    if column < 0:
        return b""
    program = [
        (_LOAD, 0, 0, _PROCESSOR),
        (_JUMP_EQUAL, 1, 0, architecture),
        _fail(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _FOREIGN_NUMBERS),
        _fail(errno.ENOSYS),
    ]
    for table, error in ((_REFUSED, errno.EPERM), (_ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            program += [(_JUMP_EQUAL, 0, 1, numbers[column]), _fail(error)]
    program += _examine(
        _CLONE[column],
        _FIRST_ARGUMENT,
        [(_JUMP_IF_ANY, 0, 1, _NAMESPACE_FLAGS), _fail(errno.EPERM), _allow()],
    )
    steps = []
    for number in _TERMINAL_INPUT:
        steps += [(_JUMP_EQUAL, 0, 1, number), _fail(errno.EPERM)]
    program += _examine(_IOCTL[column], _SECOND_ARGUMENT, [*steps, _allow()])
    steps = []
    for family in _FAMILIES:
        steps += [(_JUMP_EQUAL, 0, 1, family), _allow()]
    steps.append(_fail(errno.EAFNOSUPPORT))
    program += _examine(_SOCKET[column], _FIRST_ARGUMENT, steps)
    program.append(_allow())
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _examine(number: int, argument: int, steps: list[Instruction]) -> list[Instruction]:
    """Return the steps for one system call, with the lower half of one of its arguments
    loaded.
    """
    return [(_JUMP_EQUAL, 0, 1 + len(steps), number), (_LOAD, 0, 0, argument), *steps]


def _fail(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | error)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)
