#define _GNU_SOURCE
#include "cplatform.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

int cplatform_eventfd(void) { return eventfd(0, EFD_CLOEXEC); }

int64_t cplatform_birth(int fd) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
  return status.stx_btime.tv_sec * 1000000000ll + status.stx_btime.tv_nsec;
}
