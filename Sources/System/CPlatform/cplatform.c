#define _GNU_SOURCE
#include "cplatform.h"

#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void cplatform_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

int cplatform_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int cplatform_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int64_t cplatform_peer_user(int connection) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid == (uid_t)-1) return -1;
  return peer.uid;
}

int cplatform_watch_folder(const char *path) {
  int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch < 0) return -1;
  if (inotify_add_watch(watch, path, IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ATTRIB | IN_MOVE_SELF) >= 0) return watch;
  int error = errno;
  close(watch);
  errno = error;
  return -1;
}

int64_t cplatform_birth(int fd) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
  return status.stx_btime.tv_sec * 1000000000ll + status.stx_btime.tv_nsec;
}

int cplatform_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void cplatform_widen_pipe(int descriptor, int size) { fcntl(descriptor, F_SETPIPE_SZ, size); }

int cplatform_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int cplatform_spawn(int *child, const char *program, char *const arguments[], char *const environment[], const int *descriptors,
                    int count) {
  enum { most = 16 };
  int moved[most];
  if (count > most) return EINVAL;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int error = 0;
  /* Move the descriptors above all target numbers first, so that none is overwritten before it is used. */
  for (int i = 0; i < count; i++) {
    moved[i] = descriptors[i] < 0 ? -1 : fcntl(descriptors[i], F_DUPFD_CLOEXEC, most);
    if (descriptors[i] >= 0 && moved[i] < 0) error = errno;
  }
  for (int i = 0; i < count && !error; i++)
    error = moved[i] < 0 ? posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0)
                         : posix_spawn_file_actions_adddup2(&actions, moved[i], i);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, count);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t started = 0;
  if (!error) error = posix_spawn(&started, program, &actions, &attributes, arguments, environment);
  *child = started;
  for (int i = 0; i < count; i++)
    if (moved[i] >= 0) close(moved[i]);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

void cplatform_keep_memory(int threshold, int trim) {
  mallopt(M_MMAP_THRESHOLD, threshold);
  mallopt(M_TRIM_THRESHOLD, trim);
}

uint64_t cplatform_memory_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

const void *cplatform_find(const void *bytes, size_t count, const void *part, size_t length) {
    return memmem(bytes, count, part, length);
}

int cplatform_watch(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

int cplatform_watch_files(int watch, const char *folder) {
  return inotify_add_watch(watch, folder,
                           IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ATTRIB | IN_ONLYDIR) < 0
             ? -1
             : 0;
}

int cplatform_hold_writers(int file) {
  /* While the lease is held, a process that opens the file for writing waits. The kernel then sends SIGURG, which is ignored by default,
     and not the default signal, which would kill this process. */
  if (fcntl(file, F_SETSIG, SIGURG) < 0) return -1;
  if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) return 1;
  return errno == EAGAIN ? 0 : -1;
}

void cplatform_release_writers(int file) { fcntl(file, F_SETLEASE, F_UNLCK); }

/* MFD_EXEC exists since Linux 6.3. Older systems do not know it, and allow every memfd to be executed. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int fill(int copy, int file, uint64_t most) {
  char chunk[1 << 16];
  for (uint64_t at = 0;;) {
    ssize_t count = pread(file, chunk, sizeof chunk, (off_t)at);
    if (count == 0) return 0;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if ((uint64_t)count > most - at) {
      errno = EFBIG;
      return -1;
    }
    for (ssize_t done = 0; done < count;) {
      ssize_t written = pwrite(copy, chunk + done, (size_t)(count - done), (off_t)at);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return -1;
      done += written;
      at += (uint64_t)written;
    }
  }
}

int cplatform_sealed_copy(int file, const char *name, uint64_t most) {
  int copy = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (copy < 0 && errno == EINVAL) copy = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (copy < 0) return -1;
  if (fill(copy, file, most) == 0 && fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0) return copy;
  int error = errno;
  close(copy);
  errno = error;
  return -1;
}

int cplatform_die_with(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}
