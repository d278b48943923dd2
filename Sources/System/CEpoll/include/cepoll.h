/* Waits for many sockets (epoll), as plain functions: the module of the C library that Swift imports does not have it. */
#pragma once
#include <stdint.h>

/* What has happened to a watched descriptor, as bits. HUNG_UP: an error, or the client has ended the connection or its sending side. */
enum { CEPOLL_READABLE = 1, CEPOLL_WRITABLE = 2, CEPOLL_HUNG_UP = 4 };

typedef struct {
  uint64_t id;
  uint32_t flags;
} cepoll_event;

/* How a descriptor is watched. LEVEL: it is reported as long as it is readable. EDGE: it is reported when bytes arrive or its other side ends.
   EDGE_WRITING: also when it can be written again. */
enum cepoll_mode { CEPOLL_LEVEL, CEPOLL_EDGE, CEPOLL_EDGE_WRITING };

/* Returns a descriptor that is not inherited, or -1 and sets errno. */
int cepoll_create(void);
/* Watches a descriptor, or changes how it is watched. Returns 0, or -1 and sets errno. */
int cepoll_watch(int poll, int descriptor, uint64_t id, enum cepoll_mode mode);
void cepoll_forget(int poll, int descriptor);
/* Waits until something happens, at most for the time; -1 means without limit. Returns the number of events, and 0 after a signal. */
enum { CEPOLL_MOST = 256 };
int cepoll_wait(int poll, cepoll_event events[CEPOLL_MOST], int milliseconds);
