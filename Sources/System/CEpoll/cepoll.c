#include "cepoll.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

int cepoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int cepoll_watch(int poll, int descriptor, uint64_t id, enum cepoll_mode mode) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = id};
  if (mode != CEPOLL_LEVEL) event.events |= EPOLLRDHUP | EPOLLET;
  if (mode == CEPOLL_EDGE_WRITING) event.events |= EPOLLOUT;
  if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) == 0) return 0;
  return errno == EEXIST ? epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) : -1;
}

void cepoll_forget(int poll, int descriptor) { epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, NULL); }

int cepoll_wait(int poll, cepoll_event events[CEPOLL_MOST], int milliseconds) {
  struct epoll_event found[CEPOLL_MOST];
  int count = epoll_wait(poll, found, CEPOLL_MOST, milliseconds);
  for (int i = 0; i < count; i++) {
    uint32_t flags = found[i].events;
    events[i].id = found[i].data.u64;
    events[i].flags = (flags & EPOLLIN ? CEPOLL_READABLE : 0) | (flags & EPOLLOUT ? CEPOLL_WRITABLE : 0) |
                      (flags & (EPOLLERR | EPOLLHUP | EPOLLRDHUP) ? CEPOLL_HUNG_UP : 0);
  }
  return count < 0 ? 0 : count;
}
