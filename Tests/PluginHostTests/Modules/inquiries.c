/*
 * A module that answers previews and probes as its settings say, also with what makes no sense. With -DOLD its table ends before both.
 * ROWS are more members of its description.
 */
#define _GNU_SOURCE
#include "switchyard_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct instance {
  const switchyard_host *host;
  char settings[1000];
} instance;

static switchyard_bytes text(const char *string) {
  switchyard_bytes result = {(const uint8_t *)string, strlen(string)};
  return result;
}

static int says(const instance *self, const char *word) { return strstr(self->settings, word) != NULL; }

#if !defined ROWS
#define ROWS ""
#endif

static switchyard_bytes describe(void) {
  return text("{\"name\":\"inquiries\",\"version\":\"1\",\"settings\":{\"type\":\"object\","
              "\"properties\":{\"do\":{\"type\":\"string\"}}}" ROWS "}");
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)error, (void)error_size;
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  memcpy(self->settings, settings.data, settings.size < 999 ? settings.size : 999);
  return self;
}

static void deliver(void *me, const switchyard_batch *batch) {
  instance *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  self->host->complete(self->host->context, batch->token, &outcome, NULL, 0);
}

static void destroy(void *me) { free(me); }

static void preview(void *me, const switchyard_batch *batch, const switchyard_preview *to) {
  instance *self = me;
  const uint64_t events[] = {0, 7, 1, UINT64_MAX};
  switchyard_request request = {
      .struct_size = sizeof request,
      .method = text("PO\x1bST"),
      .url = text("https://host/s3cret-text\nmore"),
      .headers = text("A: s3cret-text\nB: \x1b[31mred\n"),
      .body = batch->ndjson,
      .events = events,
      .events_count = 4,
  };
  if (says(self, "short")) request.struct_size = sizeof request - 1;
  if (says(self, "huge")) {
    request.body.size = SIZE_MAX;
    request.url.size = (size_t)1 << 40;
    request.events_count = SIZE_MAX;
  }
  if (says(self, "null")) {
    memset(&request, 0, sizeof request);
    request.struct_size = sizeof request;
    request.events_count = 3;
  }
  if (says(self, "crashes")) abort();
  if (says(self, "hangs")) {
    for (;;) pause();
  }
  for (int i = says(self, "many") ? 20 : 1; i > 0; i--) to->request(to->context, &request);
  to->refused(to->context, 1, text("it is \x1b[31mred s3cret-text"));
  to->refused(to->context, 99, text("there is no such event"));
  to->loses(to->context, 0, text("a long text"));
  to->loses(to->context, UINT64_MAX, text("nothing"));
}

static void probe(void *me, uint64_t deadline_ms, void *context, void (*found)(void *, uint32_t, int32_t, switchyard_bytes)) {
  instance *self = me;
  if (says(self, "hangs")) {
    for (;;) pause();
  }
  if (says(self, "silent")) return;
  if (says(self, "strange")) return found(context, 9, 0, text("strange"));
  if (says(self, "refused")) return found(context, SWITCHYARD_PROBE_REFUSED, 401, text("the key s3cret-text is \x1b[31mwrong"));
  if (says(self, "reached")) return found(context, SWITCHYARD_PROBE_REACHED, 404, text("reached"));
  if (says(self, "failed")) return found(context, SWITCHYARD_PROBE_FAILED, 0, text("failed"));
  found(context, SWITCHYARD_PROBE_ACCEPTED, 0, text(deadline_ms == 5000 ? "five seconds" : "another time"));
  if (says(self, "twice")) found(context, SWITCHYARD_PROBE_REFUSED, 0, text("twice"));
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
#if defined OLD
    .struct_size = offsetof(switchyard_plugin, preview),
#else
    .struct_size = sizeof plugin,
#endif
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .destroy = destroy,
    .preview = preview,
    .probe = probe,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
