/* Lets the n-th call that changes files of a folder fail, for LD_PRELOAD. Calls are counted on paths
   below the folder that fail_writes() names, and on files that were opened there. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 4096

enum { READ = 1, WRITTEN = 2 };

static char folder[PATH_MAX];
static long left = -1; /* calls that still succeed; below zero all do */
static long seen;
static int code;
static char is_there[MOST_FILES];

/* From now on the call after `count` more fails with `error`; below zero none does. */
void fail_writes(const char *below, long count, int error) {
  strncpy(folder, below, sizeof folder - 1);
  left = count;
  code = error;
  seen = 0;
}

/* How many calls were counted since. */
long counted_writes(void) { return seen; }

static int fails(void) {
  ++seen;
  if (left < 0 || left-- > 0) return 0;
  errno = code;
  return 1;
}

static int below(const char *path) {
  return path && folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_own(int file) {
  return file >= 0 && file < MOST_FILES && is_there[file] == WRITTEN;
}

static int opened(int file, const char *path, int flags) {
  if (file >= 0 && file < MOST_FILES) {
    is_there[file] = (char)(below(path) ? (flags & (O_WRONLY | O_RDWR)) != 0 ? WRITTEN : READ : 0);
  }
  return file;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MODE(flags, last)                      \
  mode_t mode = 0;                             \
  if ((flags) & (O_CREAT | O_TMPFILE)) {       \
    va_list more;                              \
    va_start(more, last);                      \
    mode = (mode_t)va_arg(more, int);          \
    va_end(more);                              \
  }

#define OPEN(name)                                                                    \
  int name(const char *path, int flags, ...) {                                        \
    REAL(name);                                                                       \
    MODE(flags, flags)                                                                \
    if (below(path) && (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails()) return -1; \
    return opened(real(path, flags, mode), path, flags);                              \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                  \
  int name(int at, const char *path, int flags, ...) {                                \
    REAL(name);                                                                       \
    MODE(flags, flags)                                                                \
    if (below(path) && (flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails()) return -1; \
    return opened(real(at, path, flags, mode), path, flags);                          \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size) {
  REAL(write);
  return is_own(file) && fails() ? -1 : real(file, data, size);
}
ssize_t writev(int file, const struct iovec *data, int count) {
  REAL(writev);
  return is_own(file) && fails() ? -1 : real(file, data, count);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
  REAL(pwrite);
  return is_own(file) && fails() ? -1 : real(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  REAL(pwrite64);
  return is_own(file) && fails() ? -1 : real(file, data, size, at);
}
int ftruncate(int file, off_t size) {
  REAL(ftruncate);
  return is_own(file) && fails() ? -1 : real(file, size);
}
int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  return is_own(file) && fails() ? -1 : real(file, size);
}
int fsync(int file) {
  REAL(fsync);
  const int is_below = file >= 0 && file < MOST_FILES && is_there[file];
  return is_below && fails() ? -1 : real(file);
}
int rename(const char *from, const char *to) {
  REAL(rename);
  return below(to) && fails() ? -1 : real(from, to);
}
