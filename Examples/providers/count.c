/*
 * A provider in plain C: it counts its events and bytes, and logs the sums when the router destroys it.
 *
 *   cc -shared -fPIC -o ~/.local/lib/switchyard/count.so count.c -I /path/to/switchyard/Sources/Kits/CSwitchyardPlugin/include
 *   export SWITCHYARD_PLUGINS=~/.local/lib/switchyard
 *
 * and in routes.json:  "providers": { "sum": { "plugin": "count" } }
 */
#include "switchyard_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counter {
  const switchyard_host *host;
  unsigned long long events, bytes;
} counter;

static switchyard_bytes text(const char *string) {
  switchyard_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static switchyard_bytes describe(void) {
  return text("{\"name\": \"count\", \"version\": \"1.0.0\", \"summary\": \"Counts events and logs the sums at the end\","
              " \"settings\": {\"type\": \"object\", \"additionalProperties\": false}}");
}

/* The router has checked the settings with the description, which allows none. */
static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)settings;
  counter *self = calloc(1, sizeof *self);
  if (!self)
    snprintf(error, error_size, "out of memory");
  else
    self->host = host;
  return self;
}

static void deliver(void *instance, const switchyard_batch *batch) {
  counter *self = instance;
  self->events += batch->count;
  self->bytes += batch->ndjson.size;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  self->host->complete(self->host->context, batch->token, &outcome, NULL, 0);
}

static void destroy(void *instance) {
  counter *self = instance;
  char line[80];
  snprintf(line, sizeof line, "%llu events, %llu bytes", self->events, self->bytes);
  self->host->log(self->host->context, 1, text(line));
  free(self);
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .destroy = destroy,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
