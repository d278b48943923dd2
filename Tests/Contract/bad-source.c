/*
 * A source that breaks the contract in the way that a macro names. Without one it keeps the contract: it hands over the numbers 1 to 5, again
 * after an end without acknowledgement, and reports its end when all are acknowledged.
 */
#include "switchyard_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST 5

typedef struct source {
  const switchyard_source_host *host;
  pthread_t thread;
  int has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int is_paused, is_stopped, acknowledged;
  unsigned resumes;
} source;

#ifdef FORGETS
static int first = 1; /* a place that it keeps without an acknowledgement */
#else
static const int first = 1;
#endif

static switchyard_bytes text(const char *string) {
  switchyard_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static switchyard_bytes describe(void) {
  return text("{\"name\":\"bad-source\",\"version\":\"1\",\"summary\":\"numbers\",\"settings\":{\"type\":\"object\","
              "\"properties\":{\"mode\":{\"type\":\"string\",\"enum\":[\"good\"],\"default\":\"good\"}},\"additionalProperties\":false}}");
}

static void *idle(void *raw) {
  (void)raw;
  for (;;) pause();
  return NULL;
}

static void *create(const switchyard_source_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)settings, (void)error, (void)error_size;
#ifdef CREATES
  fclose(fopen("made-by-create", "w"));
#endif
  source *self = calloc(1, sizeof *self);
  self->host = host;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  return self;
}

/* Waits while it is paused, or until resume was called again. Returns 0 if it is stopped. */
static int may_go_on(source *self, int was_full, unsigned resumes) {
  pthread_mutex_lock(&self->lock);
#ifndef PUSHES
  while (!self->is_stopped && (was_full ? self->resumes == resumes : self->is_paused)) pthread_cond_wait(&self->changed, &self->lock);
#endif
  int goes_on = !self->is_stopped;
  pthread_mutex_unlock(&self->lock);
  return goes_on;
}

static void *run(void *raw) {
  source *self = raw;
  for (int number = first; number <= LAST;) {
    char line[40];
    snprintf(line, sizeof line, "{\"n\":%d}\n", number);
    switchyard_block block = {.struct_size = sizeof block, .token = (uint64_t)number, .lines = text(line), .count = 1};
#ifdef TWICE
    block.token = 1;
#endif
#ifdef COUNTS
    block.count = 2;
#endif
#ifdef TORN
    block.lines.size -= 1;
#endif
    if (!may_go_on(self, 0, 0)) return NULL;
    pthread_mutex_lock(&self->lock);
    unsigned resumes = self->resumes;
    pthread_mutex_unlock(&self->lock);
    int32_t verdict = self->host->submit(self->host->context, &block);
#ifdef SWALLOWS
    if (verdict == SWITCHYARD_FULL) number++; /* what has no room is lost */
#endif
    if (verdict == SWITCHYARD_FULL) {
      if (!may_go_on(self, 1, resumes)) return NULL;
    } else if (verdict == SWITCHYARD_TAKEN) {
      number++;
    } else {
      return NULL;
    }
#ifdef FORGETS
    first = number;
#endif
  }
  pthread_mutex_lock(&self->lock);
  while (!self->is_stopped && self->acknowledged < LAST) pthread_cond_wait(&self->changed, &self->lock);
  int all = self->acknowledged >= LAST;
  pthread_mutex_unlock(&self->lock);
#ifndef NEVER_ENDS
  if (all) self->host->ended(self->host->context, text(""));
#endif
#ifdef LATE
  switchyard_block block = {.struct_size = sizeof block, .token = 99, .lines = text("{}\n"), .count = 1};
  if (all) self->host->submit(self->host->context, &block);
#endif
  return NULL;
}

static void start(void *raw) {
  source *self = raw;
  self->has_thread = pthread_create(&self->thread, NULL, run, self) == 0;
}

static void change(source *self, int is_paused, int is_stopped, int acknowledged) {
  pthread_mutex_lock(&self->lock);
  self->is_paused = is_paused;
  self->is_stopped |= is_stopped;
  self->acknowledged += acknowledged;
  if (!is_paused && !acknowledged) self->resumes++;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static void pause_source(void *raw) { change(raw, 1, 0, 0); }

static void resume_source(void *raw) {
#ifndef DEAF
  change(raw, 0, 0, 0);
#endif
}

static void acknowledge(void *raw, const uint64_t *tokens, size_t count) {
  (void)tokens;
#ifdef HANGS
  for (;;) pause();
#endif
#ifdef EXITS
  exit(3);
#endif
  change(raw, 0, 0, (int)count);
}

static void stop(void *raw, uint64_t deadline_ms) {
  source *self = raw;
  (void)deadline_ms;
  change(self, 0, 1, 0);
  if (self->has_thread) pthread_join(self->thread, NULL);
  self->has_thread = 0;
}

static void destroy(void *raw) {
  source *self = raw;
#ifdef AFTER
  switchyard_block block = {.struct_size = sizeof block, .token = 98, .lines = text("{}\n"), .count = 1};
  self->host->submit(self->host->context, &block);
#endif
#ifdef LEAKS
  pthread_t thread;
  pthread_create(&thread, NULL, idle, NULL);
#else
  (void)idle;
#endif
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static const switchyard_source table = {.abi_version = SWITCHYARD_SOURCE_ABI_VERSION, .struct_size = sizeof table, .describe = describe,
                                        .create = create, .start = start, .pause = pause_source, .resume = resume_source,
                                        .acknowledge = acknowledge, .stop = stop, .destroy = destroy};

SWITCHYARD_EXPORT const switchyard_source *switchyard_source_entry(void) { return &table; }
