/*
 * A module that erases as its settings say, also with what makes no sense. With -DOLD its table ends before erase_subjects. The outcome's
 * message repeats what the module was given.
 */
#include "switchyard_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct instance {
  const switchyard_host *host;
  char settings[1000];
  pthread_t thread;
  int has_thread;
  switchyard_erasure later;
} instance;

static switchyard_bytes text(const char *string) {
  switchyard_bytes result = {(const uint8_t *)string, strlen(string)};
  return result;
}

static int says(const instance *self, const char *word) { return strstr(self->settings, word) != NULL; }

static switchyard_bytes describe(void) {
  return text("{\"name\":\"erases\",\"version\":\"1\",\"settings\":{\"type\":\"object\",\"properties\":{\"do\":{\"type\":\"string\"}}},"
              "\"capabilities\":{\"erase\":true},\"by_hand\":\"Write to privacy@erases.example.\"}");
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)error, (void)error_size;
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  memcpy(self->settings, settings.data, settings.size < 999 ? settings.size : 999);
  return self;
}

/* The deliveries that wait for an erasure, as a test orders it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int erasures;

static void deliver(void *me, const switchyard_batch *batch) {
  instance *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  if (says(self, "beside")) {
    pthread_mutex_lock(&lock);
    while (erasures == 0) pthread_cond_wait(&news, &lock);
    pthread_mutex_unlock(&lock);
  }
  self->host->complete(self->host->context, batch->token, &outcome, NULL, 0);
}

static void destroy(void *me) {
  instance *self = me;
  if (self->has_thread) pthread_join(self->thread, NULL);
  free(me);
}

static void *end_later(void *me) {
  instance *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  self->later.ended(self->later.context, self->later.token, &outcome, NULL, 0, text("later"));
  return NULL;
}

static void erase_subjects(void *me, const switchyard_erasure *erasure) {
  instance *self = me;
  static char words[4096];
  switchyard_outcome outcome = {.kind = SWITCHYARD_RETRY, .code = 202, .retry_after_ms = 1500};
  switchyard_event_outcome subjects[] = {{.index = 1, .outcome = {.kind = SWITCHYARD_DELIVERED}}};
  switchyard_bytes state = text("job 7");
  size_t count = 0;
  int length = snprintf(words, sizeof words, "%.*s %.*s %u %lld %llu s3cret-text", (int)erasure->subjects.size, erasure->subjects.data,
                        (int)erasure->state.size, erasure->state.data, erasure->attempt, (long long)erasure->begun,
                        (unsigned long long)erasure->deadline_ms);
  outcome.message.data = (const uint8_t *)words;
  outcome.message.size = (size_t)length;
  pthread_mutex_lock(&lock);
  erasures++;
  pthread_cond_broadcast(&news);
  pthread_mutex_unlock(&lock);
  if (says(self, "never")) return;
  if (says(self, "crashes")) abort();
  if (says(self, "thread")) {
    self->later = *erasure;
    self->has_thread = 1;
    pthread_create(&self->thread, NULL, end_later, self);
    return;
  }
  if (says(self, "one")) count = 1;
  if (says(self, "outside")) count = 1, subjects[0].index = 2;
  if (says(self, "strange")) outcome.kind = 99;
  if (says(self, "long")) state.size = SWITCHYARD_MOST_ERASURE_STATE + 1;
  if (says(self, "huge")) state.size = SIZE_MAX;
  erasure->ended(erasure->context, erasure->token, says(self, "nothing") ? NULL : &outcome, subjects, count, state);
  if (says(self, "twice")) erasure->ended(erasure->context, erasure->token, &outcome, NULL, 0, state);
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
#if defined OLD
    .struct_size = offsetof(switchyard_plugin, erase_subjects),
#else
    .struct_size = sizeof plugin,
#endif
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .destroy = destroy,
    .erase_subjects = erase_subjects,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
