/*
 * Breaks the contract in the way that -D asks for: TWICE, NEVER, WRONG, CHANGES, CRASHES, EXITS, HANGS. The contract must say so.
 */
#include "switchyard_plugin.h"

#include <stdlib.h>
#include <string.h>

static switchyard_bytes describe(void) {
  static const char text[] = "{\"name\":\"bad\",\"version\":\"1\",\"summary\":\"Breaks the contract.\",\"settings\":{\"type\":\"object\"}}";
  switchyard_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
  return bytes;
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)settings, (void)error, (void)error_size;
  return (void *)host;
}

static void deliver(void *instance, const switchyard_batch *batch) {
  const switchyard_host *host = instance;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
#if defined NEVER
  return;
#elif defined WRONG
  outcome.kind = 99;
#elif defined CHANGES
  if (batch->ndjson.size) memset((void *)batch->ndjson.data, ' ', 1);
#elif defined CRASHES
  abort();
#elif defined EXITS
  exit(0);
#elif defined HANGS
  for (volatile int i = 1; i;) {
  }
#elif defined TWICE
  host->complete(host->context, batch->token, &outcome, NULL, 0);
#endif
  host->complete(host->context, batch->token, &outcome, NULL, 0);
}

static void destroy(void *instance) { (void)instance; }

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .destroy = destroy,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
