#define _GNU_SOURCE
#include "cplatform.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>

void cplatform_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

int cplatform_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int64_t cplatform_birth(int fd) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
  return status.stx_btime.tv_sec * 1000000000ll + status.stx_btime.tv_nsec;
}

void cplatform_widen_pipe(int descriptor, int size) { fcntl(descriptor, F_SETPIPE_SZ, size); }

void cplatform_keep_memory(int threshold, int trim) {
  mallopt(M_MMAP_THRESHOLD, threshold);
  mallopt(M_TRIM_THRESHOLD, trim);
}
