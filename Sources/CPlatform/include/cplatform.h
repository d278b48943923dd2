/* What the C library offers only to C, as plain functions. */
#pragma once
#include <sys/prctl.h>

/* Names the calling thread; the kernel keeps 15 bytes. */
static inline void cplatform_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }
