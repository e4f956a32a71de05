/* Makes the n-th call of one kind fail on files below a directory. Preloaded into children of the fault tests.
   FAULT_KIND: write, short (half of it is written, the next call fails) or sync. FAULT_NTH counts from 1; FAULT_AGAIN calls
   later another one fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int under(int fd) {
  const char *dir = getenv("FAULT_UNDER");
  char link[64], path[4096];
  ssize_t length;
  if (!dir) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strncmp(path, dir, strlen(dir)) == 0;
}

/* 0: go on; 1: fail; 2: do half. */
static int due(const char *kind, int fd) {
  const char *wanted = getenv("FAULT_KIND"), *nth = getenv("FAULT_NTH"), *again = getenv("FAULT_AGAIN");
  long call, at, second;
  int half = wanted && strcmp(wanted, "short") == 0;
  if (!wanted || !nth || strcmp(half ? "write" : wanted, kind) != 0 || !under(fd)) return 0;
  call = atomic_fetch_add(&calls, 1) + 1;
  at = atol(nth);
  second = again ? at + atol(again) : 0;
  if (call == at) {
    dprintf(2, "\nfault injected\n");
    if (half) return 2;
  }
  if (call == second) dprintf(2, "\nfault injected again\n");
  if (call == at || call == second || (half && call == at + 1)) {
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
  }
  return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
  int fault = fd > 2 ? due("write", fd) : 0;
  if (fault == 1) return -1;
  return REAL(write)(fd, bytes, fault == 2 ? (count + 1) / 2 : count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  int fault = due("write", fd);
  if (fault == 1) return -1;
  return REAL(pwrite)(fd, bytes, fault == 2 ? (count + 1) / 2 : count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  int fault = due("write", fd);
  if (fault == 1) return -1;
  return REAL(pwrite64)(fd, bytes, fault == 2 ? (count + 1) / 2 : count, at);
}

int fsync(int fd) { return due("sync", fd) ? -1 : REAL(fsync)(fd); }

int fdatasync(int fd) { return due("sync", fd) ? -1 : REAL(fdatasync)(fd); }
