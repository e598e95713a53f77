"""The system calls that a confined program may make, with their numbers.

They are the calls for computing, threads, time and files (Landlock decides which files). All other calls are refused:
those for processes and sockets; for signals to other processes and access to their memory; for ownership, modes and
locks of files; for namespaces and mounts; and any that a future kernel adds.
"""

from collections.abc import Mapping

# name, number on x86_64, number on aarch64; "-" if the architecture has none
_ALLOWED = """
read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62, mmap 9 222,
mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, access 21 -, pipe 22 -, select 23 -, sched_yield 24 124,
mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233, dup 32 23, dup2 33 -, pause 34 -, nanosleep 35 101,
getitimer 36 102, alarm 37 -, setitimer 38 103, getpid 39 172, sendfile 40 71, exit 60 93, wait4 61 260,
uname 63 160, fsync 74 82, fdatasync 75 83, ftruncate 77 46, getdents 78 -, getcwd 79 17, chdir 80 49,
fchdir 81 50, rename 82 -, mkdir 83 -, rmdir 84 -, creat 85 -, unlink 87 -, readlink 89 -, umask 95 166,
gettimeofday 96 169, getrlimit 97 163, getrusage 98 165, sysinfo 99 179, times 100 153, getuid 102 174,
getgid 104 176, geteuid 107 175, getegid 108 177, getppid 110 173, getpgrp 111 -, getgroups 115 158,
getresuid 118 148, getresgid 120 150, getpgid 121 155, getsid 124 156, rt_sigpending 127 136,
rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, statfs 137 43, fstatfs 138 44,
getpriority 140 141, sched_getparam 143 121, sched_getscheduler 145 120, sched_get_priority_max 146 125,
sched_get_priority_min 147 126, mlock 149 228, munlock 150 229, arch_prctl 158 -, setrlimit 160 164, gettid 186 178,
readahead 187 213, time 201 -, futex 202 98, sched_getaffinity 204 123, epoll_create 213 -, getdents64 217 61,
set_tid_address 218 96, restart_syscall 219 128, fadvise64 221 223, clock_gettime 228 113, clock_getres 229 114,
clock_nanosleep 230 115, exit_group 231 94, epoll_wait 232 -, epoll_ctl 233 21, waitid 247 95, get_mempolicy 239 236,
openat 257 56, mkdirat 258 34, newfstatat 262 79, unlinkat 263 35, renameat 264 38, readlinkat 267 78,
faccessat 269 48, pselect6 270 72, ppoll 271 73, set_robust_list 273 99, splice 275 76, tee 276 77,
sync_file_range 277 84, epoll_pwait 281 22, timerfd_create 283 85, eventfd 284 -, timerfd_settime 286 86,
timerfd_gettime 287 87, eventfd2 290 19, epoll_create1 291 20, dup3 292 24, pipe2 293 59, preadv 295 69,
pwritev 296 70, getcpu 309 168, sched_getattr 315 275, renameat2 316 276, getrandom 318 278, membarrier 324 283,
mlock2 325 284, copy_file_range 326 285, preadv2 327 286, pwritev2 328 287, pkey_mprotect 329 288,
pkey_alloc 330 289, pkey_free 331 290, statx 332 291, rseq 334 293, close_range 436 436, openat2 437 437,
faccessat2 439 439, epoll_pwait2 441 441, futex_waitv 449 449
"""
# Allowed only with some arguments; see `seccomp`.
_CHECKED = "clone 56 220, prlimit64 302 261, prctl 157 167, fcntl 72 25, ioctl 16 29"


def _read(table: str) -> Mapping[str, Mapping[str, int]]:
    """Return the number of each system call in a table, by architecture and then by name."""
    numbers: dict[str, dict[str, int]] = {"x86_64": {}, "aarch64": {}}
    for entry in table.split(","):
        name, *by_architecture = entry.split()
        for architecture, number in zip(numbers, by_architecture, strict=True):
            if number != "-":
                numbers[architecture][name] = int(number)
    return numbers


ALLOWED = _read(_ALLOWED)
CHECKED = _read(_CHECKED)
