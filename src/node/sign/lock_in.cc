#include "node/sign/lock_in.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace partita::node {
namespace {

constexpr rlim_t kReaderSeconds = 60;
constexpr rlim_t kReaderBytes = rlim_t{4} << 30;

#if defined(__x86_64__)
constexpr uint32_t kOwnArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kOwnArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kOwnArchitecture = 0;  // of none: the filter ends the process at its first call
#endif

// All that computing a plan needs. Descriptors are the three standard streams; no call here takes a path, makes
// a descriptor or a process, or speaks of another one. Threads are made by a call of their own, below.
constexpr long kAllowedCalls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_recvfrom,
    SYS_sendto,
    SYS_ppoll,
    SYS_close,
    SYS_shutdown,
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_clock_nanosleep,
    SYS_getrandom,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_getrusage,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_time
    SYS_time,
#endif
};

// As pthread_create asks for a thread; a process, or one with names of its own, has others.
constexpr uint32_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                  CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

void Limit(__rlimit_resource_t what, rlim_t most) {
  const rlimit limit{most, most};
  ::setrlimit(what, &limit);
}

uint32_t Number(long call) { return static_cast<uint32_t>(call); }

// Plans of many methods are computed by threads (mpc/together.h). clone3 has its flags in memory, where no
// filter sees them: it is not there, and the C library takes clone, whose flags are its first argument.
void AllowThreads(std::vector<sock_filter>& filter) {
  filter.insert(
      filter.end(),
      {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Number(SYS_clone3), 0, 1),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Number(SYS_clone), 0, 4),
       // Its lower half: both architectures are little endian, and the kernel takes no more.
       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kThreadFlags, 0, 1),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)});
}

// The numbers of system calls are looked up one after the other; what is left over is refused.
std::vector<sock_filter> ReaderFilter() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  AllowThreads(filter);
  for (const long call : kAllowedCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Number(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  return filter;
}

}  // namespace

void LockReaderIn() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  // poll() refuses to look at more than this.
  Limit(RLIMIT_NOFILE, STDERR_FILENO + 1);
  Limit(RLIMIT_FSIZE, 0);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_CPU, kReaderSeconds);
  Limit(RLIMIT_AS, kReaderBytes);
  std::vector<sock_filter> filter = ReaderFilter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    throw Error(
        ErrorCode::kRefused,
        "the process that reads studies cannot be locked in: this kernel takes no filter of "
        "system calls",
        "Use a kernel with seccomp; or decide at a terminal, with --steward FOLDER.");
  }
}

}  // namespace partita::node
