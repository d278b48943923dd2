/* What the C library offers only to C, as plain functions. */
#pragma once
#include <fcntl.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#ifndef F_SETPIPE_SZ /* hidden unless the whole module is compiled for GNU */
#define F_SETPIPE_SZ 1031
#endif

/* Names the calling thread; the kernel keeps 15 bytes. */
static inline void cplatform_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

/* A counter to wake threads by, not inherited, not blocking; -1 and errno when there is none. */
static inline int cplatform_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/* Asks for a larger pipe; without effect on anything else. */
static inline void cplatform_widen_pipe(int descriptor, int size) { fcntl(descriptor, F_SETPIPE_SZ, size); }

/* Buffers of blocks and batches come and go all the time: keep their memory instead of asking the kernel for it anew. */
static inline void cplatform_keep_memory(int threshold, int trim) {
  mallopt(M_MMAP_THRESHOLD, threshold);
  mallopt(M_TRIM_THRESHOLD, trim);
}
