// Loaded into a program before its own libraries (LD_PRELOAD): stops it at exactly one of the files that it writes.
// A program that writes a file whole gives it its name by rename(2). $STOP_AT is a folder; a file in it of the name
//   kill-before.NAME kill-after.NAME   ends the process by SIGKILL before, or after, a file gets that name
//   hold-before.NAME hold-after.NAME   lets it wait there until somebody opens the FIFO `gate` of the folder to write
// counts once. NAME.N is the Nth time. `stopped` in the folder has the number of the process then; `renamed` a line for each
// rename.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kPath = 1024, kMostTimes = 9 };
static __thread int inside = 0;

static const char* PathIn(char* path, const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int size = vsnprintf(path, kPath, format, words);
  va_end(words);
  if (size < 0 || size >= kPath) _exit(126);
  return path;
}

// Whether this is the time; of several, one less is left.
static int IsTime(const char* folder, const char* what, const char* when, const char* name) {
  char from[kPath], to[kPath];
  if (unlink(PathIn(from, "%s/%s-%s.%s", folder, what, when, name)) == 0) return 1;
  for (int n = 1; n <= kMostTimes; ++n) {
    PathIn(from, "%s/%s-%s.%s.%d", folder, what, when, name, n);
    if (access(from, F_OK) != 0) continue;
    if (n == 1) return unlink(from) == 0;
    rename(from, PathIn(to, "%s/%s-%s.%s.%d", folder, what, when, name, n - 1));
    return 0;
  }
  return 0;
}

static void Append(const char* folder, const char* file, const char* line) {
  char path[kPath];
  const int fd =
      open(PathIn(path, "%s/%s", folder, file), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || dprintf(fd, "%s\n", line) < 0) _exit(126);
  close(fd);
}

static const char* OwnNumber(char* number) { return PathIn(number, "%d", (int)getpid()); }

static void StopAt(const char* folder, const char* when, const char* name) {
  char path[kPath], number[kPath];
  if (IsTime(folder, "kill", when, name)) {
    Append(folder, "stopped", OwnNumber(number));
    kill(getpid(), SIGKILL);
  }
  if (IsTime(folder, "hold", when, name)) {
    Append(folder, "stopped", OwnNumber(number));
    close(open(PathIn(path, "%s/gate", folder), O_RDONLY | O_CLOEXEC));
  }
}

int rename(const char* from, const char* to) {
  typedef int (*Rename)(const char*, const char*);
  const Rename next = (Rename)dlsym(RTLD_NEXT, "rename");
  const char* folder = getenv("STOP_AT");
  if (folder == NULL || inside) return next(from, to);
  const char* slash = strrchr(to, '/');
  const char* name = slash == NULL ? to : slash + 1;
  inside = 1;
  StopAt(folder, "before", name);
  const int result = next(from, to);
  Append(folder, "renamed", name);
  StopAt(folder, "after", name);
  inside = 0;
  return result;
}
