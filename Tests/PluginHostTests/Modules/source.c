/*
 * A source that follows commands: start looks for words in the settings and hands over blocks, good and wrong ones. It logs each verdict and
 * each call. With -DBOTH it offers a provider too, and the macros below replace parts of its table.
 */
#define _GNU_SOURCE
#include "switchyard_source.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "source"
#endif
#ifndef ABI
#define ABI SWITCHYARD_SOURCE_ABI_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(switchyard_source)
#endif
#ifndef ACKNOWLEDGE
#define ACKNOWLEDGE acknowledge
#endif
#ifndef SETTINGS
#define SETTINGS "{\"type\":\"object\"}"
#endif

typedef struct instance {
  const switchyard_source_host *host;
  char *settings;
  pthread_t threads[4];
  int has_threads;
} instance;

static switchyard_bytes text(const char *string) {
  switchyard_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static int says(instance *self, const char *word) { return strstr(self->settings, word) != NULL; }

static void say(instance *self, const char *call, int32_t verdict) {
  char line[200];
  snprintf(line, sizeof line, "%s %d", call, verdict);
  self->host->log(self->host->context, 1, text(line));
}

static switchyard_bytes describe(void) {
  return text("{\"name\":\"" NAME "\",\"version\":\"1.2.3\",\"summary\":\"hands over as told\",\"settings\":" SETTINGS "}");
}

static const int64_t numbers[] = {41, 42};

static switchyard_block good(uint64_t token) {
  switchyard_block block = {
      .struct_size = sizeof block, .token = token, .stream = 3, .lines = text("{}\n{\"a\":1}\n"), .count = 2, .origin = text("topic/3"),
      .numbers = numbers};
  return block;
}

static int32_t submit(instance *self, switchyard_block block) { return self->host->submit(self->host->context, &block); }

static void *create(const switchyard_source_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  self->settings = strndup((const char *)settings.data, settings.size);
  if (says(self, "refuse")) {
    snprintf(error, error_size, "these settings are refused");
    free(self->settings);
    free(self);
    return NULL;
  }
  if (says(self, "early")) say(self, "early", submit(self, good(1)));
  return self;
}

static void *flood(void *raw) {
  instance *self = raw;
  static _Atomic uint64_t token = 1000;
  for (int i = 0; i < 50; i++) submit(self, good(token++));
  return NULL;
}

static void start(void *raw) {
  instance *self = raw;
  if (says(self, "good")) say(self, "good", submit(self, good(7)));
  if (says(self, "twice")) say(self, "twice", submit(self, good(7)));
  if (says(self, "null")) say(self, "null", self->host->submit(self->host->context, NULL));
  switchyard_block block = good(8);
  /* All that counts is there, and the last byte of its last member is not. */
  block.struct_size = offsetof(switchyard_block, count) + sizeof block.count - 1;
  if (says(self, "short")) say(self, "short", submit(self, block));
  block = good(8);
  block.lines.size = (size_t)-1;
  if (says(self, "negative")) say(self, "negative", submit(self, block));
  block.lines.size = (size_t)1 << 40;
  if (says(self, "huge")) say(self, "huge", submit(self, block));
  block = good(8);
  block.lines.data = NULL;
  if (says(self, "nothing")) say(self, "nothing", submit(self, block));
  block = good(8);
  block.count = (size_t)-1;
  if (says(self, "count")) say(self, "count", submit(self, block));
  block = good(8);
  block.lines.size -= 1;
  if (says(self, "torn")) say(self, "torn", submit(self, block));
  block = good(9);
  block.origin = text("\033[31mred\nline \xff");
  block.numbers = NULL;
  if (says(self, "escape")) say(self, "escape", submit(self, block));
  if (says(self, "behind")) {
    self->host->behind(self->host->context, 12, 3000);
    self->host->behind(self->host->context, UINT64_MAX, UINT64_MAX);
  }
  if (says(self, "state")) {
    self->host->state(self->host->context, SWITCHYARD_CONNECTED, text("to \033[2J it"));
    self->host->state(self->host->context, 77, text("what"));
  }
  if (says(self, "flood")) {
    self->has_threads = 1;
    for (int i = 0; i < 4; i++) pthread_create(&self->threads[i], NULL, flood, self);
  }
  if (says(self, "ended")) self->host->ended(self->host->context, text("that was all"));
}

static void paused(void *raw) { say(raw, "pause", 0); }
static void resumed(void *raw) { say(raw, "resume", 0); }

static void acknowledge(void *raw, const uint64_t *tokens, size_t count) {
  for (size_t i = 0; i < count; i++) say(raw, "acknowledge", (int32_t)tokens[i]);
}

static void stop(void *raw, uint64_t deadline) {
  say(raw, "stop", (int32_t)deadline);
  if (says(raw, "late")) say(raw, "late", submit(raw, good(99)));
}

static void destroy(void *raw) {
  instance *self = raw;
  if (self->has_threads)
    for (int i = 0; i < 4; i++) pthread_join(self->threads[i], NULL);
  if (says(self, "late")) say(self, "later", submit(self, good(99)));
  free(self->settings);
  free(self);
}

static void probe(void *raw, uint64_t deadline, void *context,
                  void (*found)(void *context, uint32_t kind, int32_t code, switchyard_bytes message)) {
  instance *self = raw;
  (void)deadline;
  self->host->behind(self->host->context, 5, 1000);
  if (!says(self, "mute")) found(context, says(self, "closed") ? SWITCHYARD_PROBE_REFUSED : SWITCHYARD_PROBE_ACCEPTED, 0, text("a log of 3"));
}

static const switchyard_source table = {.abi_version = ABI, .struct_size = SIZE, .describe = describe, .create = create, .start = start,
                                        .pause = paused, .resume = resumed, .acknowledge = ACKNOWLEDGE, .stop = stop, .destroy = destroy,
                                        .probe = probe};

SWITCHYARD_EXPORT const switchyard_source *switchyard_source_entry(void) { return &table; }

#ifdef BOTH
static switchyard_bytes describe_provider(void) {
  return text("{\"name\":\"" BOTH "\",\"version\":\"1.2.3\",\"summary\":\"takes nothing\",\"settings\":{\"type\":\"object\"}}");
}
static void *create_provider(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)host, (void)settings;
  snprintf(error, error_size, "only for its description");
  return NULL;
}
static void deliver(void *raw, const switchyard_batch *batch) { (void)raw, (void)batch; }
static void destroy_provider(void *raw) { (void)raw; }
static const switchyard_plugin provider = {.abi_version = SWITCHYARD_ABI_VERSION, .struct_size = sizeof provider,
                                           .describe = describe_provider, .create = create_provider, .deliver = deliver,
                                           .destroy = destroy_provider};
SWITCHYARD_EXPORT const switchyard_plugin *switchyard_plugin_entry(void) { return &provider; }
#endif
