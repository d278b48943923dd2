/*
 * A module that follows commands: deliver looks for a word in the events, and create looks for one in the settings.
 * Each reopen ends the delivery that "keep" or "late" has kept, even the reopen of another instance.
 */
#define _GNU_SOURCE
#include "switchyard_plugin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct instance {
  const switchyard_host *host;
  pthread_t thread;
  int has_thread;
  int completes_in_destroy;
  uint64_t token;
} instance;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int released;

static const switchyard_host *kept_host;
static const switchyard_batch *kept_batch;
static uint64_t kept_token;

static switchyard_bytes text(const char *string) {
  switchyard_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static int says(switchyard_bytes bytes, const char *word) {
  return bytes.data && memmem(bytes.data, bytes.size, word, strlen(word)) != NULL;
}

static switchyard_bytes describe(void) {
  return text("{\"name\":\"scripted\",\"version\":\"1.2.3\",\"summary\":\"does as told\",\"settings\":{\"type\":\"object\"}}");
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  if (says(settings, "refuse")) {
    memset(error, 'x', error_size); /* without a terminating zero */
    return NULL;
  }
  if (says(settings, "silent")) return NULL;
  if (says(settings, "escape")) {
    strcpy(error, "\033[31mred\nline \xff");
    return NULL;
  }
  if (says(settings, "gone")) host->closed(host->context, text("gone before anyone asked"));
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  return self;
}

static void end(const switchyard_host *host, uint64_t token) {
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  host->complete(host->context, token, &outcome, NULL, 0);
}

static void *from_thread(void *argument) {
  instance *self = argument;
  self->host->log(self->host->context, 2, text("from a thread"));
  self->host->closed(self->host->context, text("the reader left"));
  self->host->closed(self->host->context, text("again"));
  end(self->host, self->token);
  return NULL;
}

static void deliver(void *me, const switchyard_batch *batch) {
  instance *self = me;
  const switchyard_host *host = self->host;
  switchyard_bytes events = batch->ndjson;
  switchyard_outcome delivered = {.kind = SWITCHYARD_DELIVERED};
  switchyard_outcome rejected = {.kind = SWITCHYARD_REJECTED, .code = 422, .message = text("too odd")};
  switchyard_event_outcome single[2] = {{0, rejected}, {1, {.kind = SWITCHYARD_RETRY, .code = 429, .retry_after_ms = 1500}}};

  if (says(events, "\"twice\"")) {
    end(host, batch->token);
    end(host, batch->token);
  } else if (says(events, "\"thread\"")) {
    self->token = batch->token;
    self->has_thread = pthread_create(&self->thread, NULL, from_thread, self) == 0;
  } else if (says(events, "\"keep\"")) {
    kept_host = host;
    kept_batch = batch;
    kept_token = batch->token;
  } else if (says(events, "\"late\"")) {
    kept_host = host;
    kept_token = batch->token;
  } else if (says(events, "\"destroy\"")) {
    self->completes_in_destroy = 1;
    self->token = batch->token;
  } else if (says(events, "\"hang\"")) {
    host->log(host->context, 1, text("inside"));
    pthread_mutex_lock(&lock);
    while (!released) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    /* The events are still there. */
    rejected.message = events;
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"strangers\"")) {
    end(host, batch->token + 1000);
    end(host, 0);
    host->complete(NULL, batch->token, &delivered, NULL, 0);
    host->complete((void *)(uintptr_t)-1, batch->token, &delivered, NULL, 0);
    end(host, batch->token);
  } else if (says(events, "\"attempt\"")) {
    rejected.code = (int32_t)batch->attempt;
    rejected.message = events;
    int whole = batch->count == 2 && batch->ends[1] == events.size && batch->arrivals[1] == 7 &&
                batch->struct_size == sizeof *batch;
    if (!whole) rejected.message = text("the batch is not whole");
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"mixed\"")) {
    host->complete(host->context, batch->token, &delivered, single, 2);
  } else if (says(events, "\"unsorted\"")) {
    single[0].index = 1;
    single[1].index = 0;
    host->complete(host->context, batch->token, &delivered, single, 2);
  } else if (says(events, "\"nothing\"")) {
    host->complete(host->context, batch->token, NULL, NULL, 0);
  } else if (says(events, "\"range\"")) {
    single[1].index = batch->count;
    host->complete(host->context, batch->token, &delivered, single, 2);
  } else if (says(events, "\"duplicate\"")) {
    single[1].index = 0;
    host->complete(host->context, batch->token, &delivered, single, 2);
  } else if (says(events, "\"absurd\"")) {
    host->complete(host->context, batch->token, &delivered, single, (size_t)-1);
  } else if (says(events, "\"list\"")) {
    host->complete(host->context, batch->token, &delivered, NULL, 2);
  } else if (says(events, "\"kind\"")) {
    delivered.kind = 99;
    host->complete(host->context, batch->token, &delivered, NULL, 0);
  } else if (says(events, "\"event kind\"")) {
    single[0].outcome.kind = 77;
    single[1].outcome.kind = SWITCHYARD_CLOSED;
    host->complete(host->context, batch->token, &delivered, single, 2);
  } else if (says(events, "\"endless\"")) {
    rejected.message.size = (size_t)-1;
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"long\"")) {
    static uint8_t much[10000];
    memset(much, 'y', sizeof much);
    rejected.message.data = much;
    rejected.message.size = sizeof much;
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"escape\"")) {
    rejected.message = text("a\033[2Jb\nc\xff" "d\xe2\x80\xae" "e");
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"no message\"")) {
    rejected.message.data = NULL;
    rejected.message.size = 12;
    host->complete(host->context, batch->token, &rejected, NULL, 0);
  } else if (says(events, "\"levels\"")) {
    host->log(host->context, 0, text("debug"));
    host->log(host->context, 3, text("error\n\033[0m"));
    host->log(host->context, 1000, text("too high"));
    host->log(host->context, -5, text("too low"));
    host->log(host->context, 1, text(""));
    end(host, batch->token);
  } else if (says(events, "\"flood\"")) {
    for (int i = 0; i < 1000; i++) host->log(host->context, 1, text("chatter"));
    host->log(host->context, 3, text("an error in between"));
    end(host, batch->token);
  } else {
    host->complete(host->context, batch->token, &delivered, NULL, 0);
  }
}

/* With -DFLUSHES, flush succeeds. Otherwise it fails, so that a test sees the outcome. */
static void flush(void *me, uint64_t token) {
  instance *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_FAULT, .code = 28, .message = text("no space left")};
#if defined FLUSHES
  outcome = (switchyard_outcome){.kind = SWITCHYARD_DELIVERED};
#endif
  self->host->complete(self->host->context, token, &outcome, NULL, 0);
}

static void reopen(void *me) {
  (void)me;
  pthread_mutex_lock(&lock);
  released = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (!kept_host) return;
  switchyard_outcome outcome = {.kind = SWITCHYARD_REJECTED};
  /* The batch that was lent to deliver is still whole, although deliver has returned. */
  if (kept_batch) outcome.message = kept_batch->ndjson;
  kept_host->complete(kept_host->context, kept_token, &outcome, NULL, 0);
  kept_batch = NULL;
}

static void destroy(void *me) {
  instance *self = me;
  if (self->has_thread) pthread_join(self->thread, NULL);
  if (self->completes_in_destroy) end(self->host, self->token);
  self->host->log(self->host->context, 1, text("destroyed"));
  free(self);
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .flush = flush,
    .destroy = destroy,
    .reopen = reopen,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
