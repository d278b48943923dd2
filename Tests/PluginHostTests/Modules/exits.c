/*
 * A module that calls exit() in the function that its settings name: "create", "flush", "destroy"; or, when a batch has the word "exit",
 * "deliver", "quick", "errx", "thread", "threads", "_exit". With "late", an atexit handler calls exit(0) at the end of the process. With
 * "fork", a forked child calls exit(3), which must affect only the child.
 */
#define _GNU_SOURCE
#include "switchyard_plugin.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct instance {
  const switchyard_host *host;
  char settings[1000];
} instance;

static switchyard_bytes bytes(const char *string) {
  switchyard_bytes result = {(const uint8_t *)string, strlen(string)};
  return result;
}

static int says(switchyard_bytes in, const char *word) { return in.data && memmem(in.data, in.size, word, strlen(word)) != NULL; }

/* The handlers must not run while the router still works. */
static void note(const char *text) {
  if (write(2, text, strlen(text)) < 0) abort();
}
static void at_exit(void) { note("the module's handler ran\n"); }
static void late(void) { exit(0); }
__attribute__((destructor)) static void at_unload(void) { note("the module's destructor ran\n"); }

static switchyard_bytes describe(void) {
  return bytes("{\"name\":\"exits\",\"version\":\"1\",\"settings\":{\"type\":\"object\",\"properties\":{\"where\":{\"type\":\"string\"}}}}");
}

static void *create(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size) {
  (void)error, (void)error_size;
  if (says(settings, "\"create\"")) exit(0);
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  memcpy(self->settings, settings.data, settings.size < 999 ? settings.size : 999);
  if (strstr(self->settings, "\"late\"")) atexit(late);
  return self;
}

static void *run(void *unused) {
  (void)unused;
  exit(0);
}

static void deliver(void *me, const switchyard_batch *batch) {
  instance *self = me;
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  if (says(batch->ndjson, "exit")) {
    pthread_t thread;
    atexit(at_exit);
    at_quick_exit(at_exit);
    if (strstr(self->settings, "\"deliver\"")) exit(0);
    if (strstr(self->settings, "\"quick\"")) quick_exit(0);
    if (strstr(self->settings, "\"errx\"")) errx(0, "the module says good bye");
    if (strstr(self->settings, "\"_exit\"")) _exit(0);
    if (strstr(self->settings, "\"thread")) {
      int count = strstr(self->settings, "\"threads\"") ? 8 : 1;
      for (int i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, run, NULL) != 0) abort();
      return;
    }
    if (strstr(self->settings, "\"fork\"")) {
      pid_t child = fork();
      if (child == 0) exit(3);
      int status = 0;
      if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) outcome.kind = SWITCHYARD_REJECTED;
    }
  }
  self->host->complete(self->host->context, batch->token, &outcome, NULL, 0);
}

static void flush(void *me, uint64_t token) {
  instance *self = me;
  if (strstr(self->settings, "\"flush\"")) exit(0);
  switchyard_outcome outcome = {.kind = SWITCHYARD_DELIVERED};
  self->host->complete(self->host->context, token, &outcome, NULL, 0);
}

static void destroy(void *me) {
  instance *self = me;
  if (strstr(self->settings, "\"destroy\"")) exit(0);
  free(self);
}

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void when_loaded(void) { IN_CONSTRUCTOR; }
#endif

static const switchyard_plugin plugin = {
    .abi_version = SWITCHYARD_ABI_VERSION,
    .struct_size = sizeof plugin,
    .describe = describe,
    .create = create,
    .deliver = deliver,
    .flush = flush,
    .destroy = destroy,
};

const switchyard_plugin *switchyard_plugin_entry(void) { return &plugin; }
