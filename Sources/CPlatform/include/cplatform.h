/* What the C library offers only to C, as plain functions. */
#pragma once
#include <stdint.h>
#include <sys/prctl.h>

/* Names the calling thread; the kernel keeps 15 bytes. */
static inline void cplatform_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

/* A counter that poll can wait for; -1 and errno when there is none to be had. */
int cplatform_eventfd(void);

/* When the file was created, in nanoseconds since 1970; -1: the file system does not say. */
int64_t cplatform_birth(int fd);
