/*
 * A source in plain C: it hands over as many numbered events as its settings say, and logs how many were acknowledged.
 *
 *   cc -shared -fPIC -pthread -o ~/.local/lib/switchyard/tick.so tick.c -I /path/to/switchyard/Sources/Kits/CSwitchyardPlugin/include
 *   export SWITCHYARD_PLUGINS=~/.local/lib/switchyard
 *
 * and in routes.json:  "sources": { "clock": { "plugin": "tick", "count": 1000 } }
 */
#include "switchyard_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ticker {
  const switchyard_source_host *host;
  long long count;
  unsigned long long acknowledged;
  pthread_t thread;
  int has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int is_paused, is_stopped;
  unsigned resumes; /* how often resume was called: one that comes while a block is refused counts for that block */
} ticker;

static switchyard_bytes text(const char *string) {
  switchyard_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static switchyard_bytes describe(void) {
  return text("{\"name\": \"tick\", \"version\": \"1.0.0\", \"summary\": \"Makes numbered events\","
              " \"settings\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\":"
              " {\"count\": {\"type\": \"integer\", \"minimum\": 1, \"default\": 10, \"description\": \"how many\"}}}}");
}

/* The router has checked the settings with the description and has filled in the default, so the number is there. */
static void *create(const switchyard_source_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  ticker *self = calloc(1, sizeof *self);
  char *copy = strndup((const char *)settings.data, settings.size);
  const char *count = copy ? strstr(copy, "\"count\":") : NULL;
  if (!self || !count || sscanf(count, "\"count\":%lld", &self->count) != 1) {
    snprintf(error, error_size, "'count' is missing");
    free(copy);
    free(self);
    return NULL;
  }
  free(copy);
  self->host = host;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  return self;
}

/* Waits while the source is paused, or until resume was called again after `resumes` calls. Returns 0 if it is stopped. */
static int wait_for_room(ticker *self, int was_full, unsigned resumes) {
  pthread_mutex_lock(&self->lock);
  while (!self->is_stopped && (was_full ? self->resumes == resumes : self->is_paused)) pthread_cond_wait(&self->changed, &self->lock);
  int goes_on = !self->is_stopped;
  pthread_mutex_unlock(&self->lock);
  return goes_on;
}

static void *run(void *instance) {
  ticker *self = instance;
  self->host->state(self->host->context, SWITCHYARD_CONNECTED, text(""));
  for (long long number = 1; number <= self->count;) {
    char line[80];
    snprintf(line, sizeof line, "{\"event\":\"tick\",\"messageId\":\"tick-%lld\",\"n\":%lld}\n", number, number);
    int64_t numbers[] = {number};
    switchyard_block block = {.struct_size = sizeof block,
                              .token = (uint64_t)number,
                              .lines = text(line),
                              .count = 1,
                              .origin = text("ticks"),
                              .numbers = numbers};
    if (!wait_for_room(self, 0, 0)) return NULL;
    pthread_mutex_lock(&self->lock);
    unsigned resumes = self->resumes;
    pthread_mutex_unlock(&self->lock);
    switch (self->host->submit(self->host->context, &block)) {
    case SWITCHYARD_TAKEN: number++; break;
    case SWITCHYARD_FULL:
      if (!wait_for_room(self, 1, resumes)) return NULL;
      break;
    default: return NULL;
    }
  }
  self->host->ended(self->host->context, text(""));
  return NULL;
}

static void start(void *instance) {
  ticker *self = instance;
  self->has_thread = pthread_create(&self->thread, NULL, run, self) == 0;
}

static void set(ticker *self, int is_paused, int is_stopped) {
  pthread_mutex_lock(&self->lock);
  self->is_paused = is_paused;
  self->is_stopped |= is_stopped;
  if (!is_paused) self->resumes++;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static void pause_source(void *instance) { set(instance, 1, 0); }
static void resume_source(void *instance) { set(instance, 0, 0); }

/* A source that reads from a log would commit the offsets of these blocks here. */
static void acknowledge(void *instance, const uint64_t *tokens, size_t count) {
  ticker *self = instance;
  (void)tokens;
  self->acknowledged += count;
}

static void stop(void *instance, uint64_t deadline_ms) {
  ticker *self = instance;
  (void)deadline_ms;
  set(self, 0, 1);
  if (self->has_thread) pthread_join(self->thread, NULL);
  self->has_thread = 0;
}

static void destroy(void *instance) {
  ticker *self = instance;
  char line[80];
  snprintf(line, sizeof line, "%llu events acknowledged", self->acknowledged);
  self->host->log(self->host->context, 1, text(line));
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static const switchyard_source source = {
    .abi_version = SWITCHYARD_SOURCE_ABI_VERSION,
    .struct_size = sizeof source,
    .describe = describe,
    .create = create,
    .start = start,
    .pause = pause_source,
    .resume = resume_source,
    .acknowledge = acknowledge,
    .stop = stop,
    .destroy = destroy,
};

SWITCHYARD_EXPORT const switchyard_source *switchyard_source_entry(void) { return &source; }
