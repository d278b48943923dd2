/* A module whose table has the faults that the -D options of the compiler select. */
#include "switchyard_plugin.h"

#include <stdlib.h>
#include <string.h>

#ifndef ABI
#define ABI SWITCHYARD_ABI_VERSION
#endif
#ifndef THE_ENTRY
#define THE_ENTRY switchyard_plugin_entry
#endif
#ifndef SIZE
#define SIZE sizeof(switchyard_plugin)
#endif
#ifndef DESCRIPTION
#define DESCRIPTION "{\"name\":\"table\",\"version\":\"1.0.0\",\"summary\":\"a table\",\"settings\":{\"type\":\"object\"}}"
#endif

static switchyard_bytes describe(void) {
#ifdef IN_DESCRIBE
  IN_DESCRIBE;
#endif
#ifdef DESCRIPTION_SIZE
  size_t size = (size_t)DESCRIPTION_SIZE;
#else
  size_t size = strlen(DESCRIPTION);
#endif
#ifdef NO_DESCRIPTION
  switchyard_bytes none = {0, size};
  return none;
#else
  switchyard_bytes bytes = {(const uint8_t *)DESCRIPTION, size};
  return bytes;
#endif
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)settings, (void)error, (void)error_size;
  return (void *)host;
}

static void deliver(void *instance, const switchyard_batch *batch) {
  const switchyard_host *host = instance;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  host->complete(host->context, batch->token, &outcome, 0, 0);
}

static void destroy(void *instance) { (void)instance; }

static void never(void *instance) {
  (void)instance;
  __builtin_trap();
}

#ifdef NEEDS_WHAT_NOBODY_HAS
extern void nobody_has_this(void);
#endif

SWITCHYARD_EXPORT const switchyard_plugin *THE_ENTRY(void) {
  static const switchyard_plugin plugin = {
      .abi_version = ABI,
      .struct_size = SIZE,
#ifndef WITHOUT_DESCRIBE
      .describe = describe,
#endif
#ifndef WITHOUT_CREATE
      .create = create,
#endif
#ifndef WITHOUT_DELIVER
      .deliver = deliver,
#endif
#ifndef WITHOUT_DESTROY
      .destroy = destroy,
#endif
      /* This is after the end of a table that ends with `destroy`. */
      .reopen = never,
  };
#ifdef NEEDS_WHAT_NOBODY_HAS
  nobody_has_this();
#endif
#ifdef NO_TABLE
  return 0;
#else
  return &plugin;
#endif
}

#ifdef ENDS_THE_PROCESS
__attribute__((constructor)) static void run_when_loaded(void) { abort(); }
#endif
