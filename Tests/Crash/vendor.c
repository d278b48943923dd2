/*
 * A vendor in a module, for Tests/Crash/erasures: one log, to which it appends in one write each event that it gets (event ID), each id that
 * it is asked to erase (ask ID) and each that it has erased (erased ID). With "moods" it answers an ask as chance wants: it takes the job
 * and gives it a number, is at work, has too many requests, fails, never answers, answers from another thread, answers twice, or confirms
 * another ask or a subject that it was not asked about. It confirms only what the log says is erased. With "lies" it confirms without that.
 */
#define _GNU_SOURCE
#include "switchyard_plugin.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

typedef struct vendor {
  const switchyard_host *host;
  int log, moods, lies;
} vendor;

static switchyard_bytes text(const char *string) {
  switchyard_bytes result = {(const uint8_t *)string, strlen(string)};
  return result;
}

static unsigned chance(unsigned below) {
  unsigned number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number % below;
}

static switchyard_bytes describe(void) {
  return text("{\"name\":\"vendor\",\"version\":\"1\",\"settings\":{\"type\":\"object\",\"properties\":{"
              "\"log\":{\"type\":\"string\"},\"mood\":{\"type\":\"string\"}}},\"capabilities\":{\"erase\":true}}");
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)error, (void)error_size;
  static char words[4096], path[4096];
  snprintf(words, sizeof words, "%.*s", (int)settings.size, (const char *)settings.data);
  const char *log = strstr(words, "\"log\":\"");
  if (!log || sscanf(log, "\"log\":\"%4000[^\"]", path) != 1) return NULL;
  /* The router writes a slash in JSON as it is. */
  vendor *self = calloc(1, sizeof *self);
  self->host = host;
  self->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  self->moods = strstr(words, "moods") != NULL;
  self->lies = strstr(words, "lies") != NULL;
  return self;
}

static void destroy(void *me) {
  vendor *self = me;
  close(self->log);
  free(self);
}

/* Appends a line for each value of this member in the text. */
static void note(vendor *self, const char *word, switchyard_bytes bytes, const char *member) {
  const char *at = (const char *)bytes.data, *end = at + bytes.size;
  while ((at = memmem(at, (size_t)(end - at), member, strlen(member)))) {
    char line[200];
    at += strlen(member);
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote) return;
    int length = snprintf(line, sizeof line, "%s %.*s\n", word, (int)(quote - at), at);
    if (write(self->log, line, (size_t)length) != length) abort();
    at = quote;
  }
}

static void deliver(void *me, const switchyard_batch *batch) {
  vendor *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  note(self, "event", batch->ndjson, "\"userId\":\"");
  self->host->complete(self->host->context, batch->token, &outcome, NULL, 0);
}

static void *answer_late(void *copy) {
  switchyard_erasure erasure = *(switchyard_erasure *)copy;
  free(copy);
  usleep(60000);
  switchyard_outcome outcome = {.kind = SWITCHYARD_RETRY, .code = 202, .message = text("at work")};
  erasure.ended(erasure.context, erasure.token, &outcome, NULL, 0, text("late"));
  return NULL;
}

static void erase_subjects(void *me, const switchyard_erasure *erasure) {
  vendor *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_RETRY, .code = 202, .message = text("at work")};
  switchyard_outcome confirmed = {.kind = SWITCHYARD_DELIVERED};
  switchyard_event_outcome beyond[] = {{.index = 1000, .outcome = confirmed}};
  char number[32];
  snprintf(number, sizeof number, "job %u", chance(1000000));
  note(self, "ask", erasure->subjects, "\"id\":\"");
  switchyard_bytes state = erasure->state.size ? erasure->state : text(number);
  unsigned mood = self->moods ? chance(9) : 8;
  if (self->lies) mood = 9;
  switch (mood) {
  case 0: outcome.code = 429; break;
  case 1: outcome.code = 500, outcome.kind = SWITCHYARD_UNKNOWN; break;
  case 2: return;
  case 3: {
    pthread_t thread;
    switchyard_erasure *copy = malloc(sizeof *copy);
    memcpy(copy, erasure, sizeof *copy);
    if (chance(2) && pthread_create(&thread, NULL, answer_late, copy) == 0) {
      pthread_detach(thread);
      return;
    }
    free(copy);
    break;
  }
  case 4: erasure->ended(erasure->context, erasure->token, &outcome, beyond, 1, state); return;
  case 5: erasure->ended(erasure->context, erasure->token + 1 + chance(3), &confirmed, NULL, 0, state); break;
  case 6:
    erasure->ended(erasure->context, erasure->token, &outcome, NULL, 0, state);
    erasure->ended(erasure->context, erasure->token, &confirmed, NULL, 0, state);
    return;
  case 7:
  case 8:
    /* A job that was taken before is done. */
    if (erasure->state.size == 0) break;
    note(self, "erased", erasure->subjects, "\"id\":\"");
    outcome = confirmed;
    break;
  default: outcome = confirmed;
  }
  erasure->ended(erasure->context, erasure->token, &outcome, NULL, 0, state);
}

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .destroy = destroy,
    .erase_subjects = erase_subjects,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
