/*
 * Appends its batches to out.ndjson in the working folder, and breaks the contract in the way that -D selects (see contract.sh). The
 * contract must find that, and it must find no fault in the module without -D.
 */
#include "switchyard_plugin.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const switchyard_outcome delivered = {.kind = SWITCHYARD_DELIVERED};

static switchyard_bytes describe(void) {
  static const char text[] = "{\"name\":\"bad\",\"version\":\"1\",\"summary\":\"Breaks the contract.\",\"settings\":{\"type\":\"object\"}}";
  switchyard_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
  return bytes;
}

static void append(switchyard_bytes text) {
  int file = open("out.ndjson", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || write(file, text.data, text.size) != (ssize_t)text.size) abort();
  close(file);
}

#if defined AFTER || defined STAYS
static atomic_int destroyed;
static uint64_t last;
#endif

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)settings, (void)error, (void)error_size;
#if defined CREATES
  close(open("made-by-create", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
#elif defined OPENS
  open("/etc/passwd", O_RDONLY | O_CLOEXEC);
#elif defined AFTER || defined STAYS
  destroyed = 0;
#endif
  return (void *)host;
}

#if defined AFTER || defined STAYS
/* Runs on after destroy. */
static void *late(void *instance) {
  const switchyard_host *host = instance;
  while (!destroyed) usleep(1000);
#if defined STAYS
  for (;;) pause();
#endif
  usleep(20000);
  host->complete(host->context, last, &delivered, NULL, 0);
  return NULL;
}
#endif

#if defined BEFORE
struct later {
  const switchyard_host *host;
  switchyard_bytes text;
};

/* Writes the events that were already reported as delivered. */
static void *send_later(void *raw) {
  struct later *later = raw;
  usleep(20000);
  append(later->text);
  free((void *)later->text.data);
  free(later);
  return NULL;
}
#endif

static void deliver(void *instance, const switchyard_batch *batch) {
  const switchyard_host *host = instance;
  switchyard_outcome outcome = delivered;
#if defined BEFORE
  struct later *later = malloc(sizeof *later);
  later->text.data = memcpy(malloc(batch->ndjson.size + 1), batch->ndjson.data, batch->ndjson.size);
  later->text.size = batch->ndjson.size;
  host->complete(host->context, batch->token, &outcome, NULL, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, send_later, later);
  pthread_detach(thread);
  return;
#elif !defined SWALLOWS
  append(batch->ndjson);
#endif
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
#elif defined LEAKS
  static void *volatile lost;
  lost = malloc(24);
#elif defined DESCRIPTORS
  static int calls;
  if (calls++ % 20 == 0) open("/dev/null", O_RDONLY | O_CLOEXEC);
#elif defined AFTER || defined STAYS
  last = batch->token;
  static void *started;
  if (started != instance) {
    started = instance;
    pthread_t thread;
    pthread_create(&thread, NULL, late, instance);
    pthread_detach(thread);
  }
#endif
  host->complete(host->context, batch->token, &outcome, NULL, 0);
}

static void flush(void *instance, uint64_t token) {
  const switchyard_host *host = instance;
  switchyard_outcome outcome = delivered;
#if defined RETRIES
  outcome.kind = SWITCHYARD_RETRY;
#endif
  host->complete(host->context, token, &outcome, NULL, 0);
}

static void destroy(void *instance) {
  (void)instance;
#if defined AFTER || defined STAYS
  destroyed = 1;
#endif
}

static void preview(void *instance, const switchyard_batch *batch, const switchyard_preview *to) {
  (void)instance;
  uint64_t start = 0;
  for (uint64_t index = 0; index < batch->count; index++) {
    switchyard_request request = {.struct_size = sizeof request, .events = &index, .events_count = 1};
    request.body.data = batch->ndjson.data + start;
    request.body.size = batch->ends[index] - start;
    start = batch->ends[index];
#if defined FORGETS
    if (index == 0) continue;
#elif defined COUNTS
    static int calls;
    if (calls++ % 2) request.body.size--;
#endif
    to->request(to->context, &request);
  }
#if defined SENDS
  append(batch->ndjson);
#endif
}

static void probe(void *instance, uint64_t deadline_ms, void *context, void (*found)(void *, uint32_t, int32_t, switchyard_bytes)) {
  static const char words[] = "it is fine";
  switchyard_bytes message = {(const uint8_t *)words, sizeof words - 1};
  (void)instance, (void)deadline_ms;
#if !defined SILENT
  found(context, SWITCHYARD_PROBE_ACCEPTED, 0, message);
#endif
}

static void erase_subjects(void *instance, const switchyard_erasure *erasure) {
  switchyard_outcome outcome = delivered;
  switchyard_bytes state = {NULL, 0};
  (void)instance;
#if defined ERASES_NEVER
  return;
#elif defined ERASES_WRONG
  outcome.kind = 99;
#elif defined ERASES_LONG
  static const uint8_t many[SWITCHYARD_MOST_ERASURE_STATE + 1];
  state.data = many;
  state.size = sizeof many;
#elif defined ERASES_OTHERS
  if (truncate("out.ndjson", 0) != 0) abort();
#elif defined ERASES_TWICE
  erasure->ended(erasure->context, erasure->token, &outcome, NULL, 0, state);
#endif
  erasure->ended(erasure->context, erasure->token, &outcome, NULL, 0, state);
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .flush = flush,
    .destroy = destroy,
    .preview = preview,
    .probe = probe,
    .erase_subjects = erase_subjects,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
