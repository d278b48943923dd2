/*
 * A module that harms its process: create looks for a word in the settings, and deliver looks for one in the events.
 */
#define _GNU_SOURCE
#include "switchyard_plugin.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const switchyard_host *host;
static char text[65536];
static switchyard_bytes kept_settings;

static switchyard_bytes bytes(const char *string) {
  switchyard_bytes result = {(const uint8_t *)string, strlen(string)};
  return result;
}

static int says(switchyard_bytes in, const char *word) { return in.data && memmem(in.data, in.size, word, strlen(word)) != NULL; }

/* Returns a text of `count` bytes 'x' and then the words. */
static switchyard_bytes behind(size_t count, const char *words) {
  memset(text, 'x', count);
  strcpy(text + count, words);
  return bytes(text);
}

/* Writes a forged frame directly to the socket, without the limits that its own process has. */
static void forge(uint32_t kind, const void *body, uint32_t size) {
  uint32_t head[2] = {size, kind};
  uint8_t frame[256];
  memcpy(frame, head, sizeof head);
  memcpy(frame + sizeof head, body, size);
  if (write(3, frame, sizeof head + size) < 0) abort();
}

static void forge_lines(int count) {
  const uint32_t body[3] = {1, 4, 0x2165696c /* lie! */};
  for (int i = 0; i < count; i++) forge(20, body, sizeof body);
}

/* Writes a forged frame with the outcome "delivered" for that token. */
static void forge_end(uint64_t token) {
  uint64_t body[4] = {token};
  forge(19, body, sizeof body);
}

static switchyard_bytes describe(void) {
  return bytes("{\"name\":\"hostile\",\"version\":\"1\",\"settings\":{\"type\":\"object\"},\"capabilities\":{\"concurrency\":4}}");
}

static void *create(const switchyard_host *given, switchyard_bytes settings, char *error, size_t error_size) {
  if (says(settings, "\"die\"")) exit(3);
  if (says(settings, "\"crash\"")) abort();
  if (says(settings, "\"refuse\"")) {
    snprintf(error, error_size, "no\033[2J");
    return NULL;
  }
  if (says(settings, "\"refuse at length\"")) {
    /* The buffer ends inside the first character of two bytes. */
    snprintf(error, error_size, "%s", (const char *)behind(error_size - 9, "hunter2\u00E4\u00E4").data);
    return NULL;
  }
  /* The file gets a byte for each start. The second start may be refused. */
  if (getenv("STARTS")) {
    int file = open(getenv("STARTS"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(file, "x", 1) < 0) abort();
    if (lseek(file, 0, SEEK_END) > 1 && says(settings, "\"refuse later\"")) {
      snprintf(error, error_size, "hunter2 is wrong");
      return NULL;
    }
    close(file);
  }
  host = given;
  kept_settings.data = memcpy(malloc(settings.size + 1), settings.data, settings.size);
  kept_settings.size = settings.size;
  return (void *)host;
}

static void end(const switchyard_batch *batch, uint32_t kind, switchyard_bytes message) {
  switchyard_outcome outcome = {.kind = kind, .code = (int32_t)batch->attempt, .message = message};
  host->complete(host->context, batch->token, &outcome, NULL, 0);
}

/* Lists the descriptors after the standard ones, without those of libraries. */
static void list_descriptors(void) {
  text[0] = 0;
  DIR *folder = opendir("/proc/self/fd");
  for (struct dirent *entry; (entry = readdir(folder));) {
    int number = atoi(entry->d_name);
    char target[200] = {0};
    if (entry->d_name[0] == '.' || number == dirfd(folder)) continue;
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0) continue;
    if (number > 2 && !strstr(target, ".so")) sprintf(text + strlen(text), "%d ", number);
  }
  closedir(folder);
}

/* Checks whether the settings are in the arguments or the environment, which other processes can read. */
static void look_for_settings(void) {
  static char seen[200000];
  size_t count = 0;
  const char *files[] = {"/proc/self/cmdline", "/proc/self/environ"};
  for (int i = 0; i < 2; i++) {
    int file = open(files[i], O_RDONLY);
    ssize_t n = read(file, seen + count, sizeof seen - count);
    if (n > 0) count += (size_t)n;
    close(file);
  }
  snprintf(text, sizeof text, "%s", memmem(seen, count, "hunter2", 7) ? "seen" : says(kept_settings, "hunter2") ? "kept" : "lost");
}

static void deliver(void *instance, const switchyard_batch *batch) {
  (void)instance;
  switchyard_bytes events = batch->ndjson;
  if (batch->attempt == 1) {
    if (says(events, "\"crash\"")) abort();
    if (says(events, "\"exit\"")) exit(0);
    if (says(events, "\"hang\"")) for (;;) pause();
    if (says(events, "\"silent\"")) return;
    if (says(events, "\"eat\"")) {
      for (;;) {
        char *more = malloc(16 << 20);
        if (!more) abort();
        memset(more, 1, 4096);
      }
    }
    if (says(events, "\"garbage\"")) {
      memset(text, 0xff, 4096);
      if (write(3, text, 4096) < 0) abort();
      return;
    }
    if (says(events, "\"half\"")) {
      if (write(3, "\1\0\0", 3) < 0) abort();
      return;
    }
    if (says(events, "\"refuse\"")) {
      forge(18, "\4\0\0\0lies", 8);
      return;
    }
    if (says(events, "\"ready\"")) {
      forge(17, "\1\0\0\0\5\0\0\0other\1\0\0\0" "2", 18);
      return;
    }
    if (says(events, "\"closed\"")) {
      forge(22, "", 0);
      return;
    }
    if (says(events, "\"stray\"")) {
      forge_end(999);
      return;
    }
    if (says(events, "\"drip\"")) {
      /* Sends one log line byte by byte, without a pause. */
      const uint32_t size = 20000000, head[4] = {size, 20, 1, size - 8};
      if (write(3, head, sizeof head) < 0) abort();
      for (uint32_t i = 8; i < size; i++) if (write(3, "x", 1) < 0) abort();
    }
    if (says(events, "\"heir\"")) {
      /* The children send frames without end. */
      for (int i = 0; i < 3; i++) {
        if (fork() == 0) for (;;) forge_lines(1000);
      }
      abort();
    }
    if (says(events, "\"deaf\"")) {
      close(3);
      return;
    }
  }
  if (says(events, "\"long\"")) {
    /* The secrets are where the message of the batch, the message of one event and a log line are cut. */
    host->log(host->context, 1, behind(4090, "hunter2hunter2"));
    switchyard_event_outcome one = {1, {.kind = SWITCHYARD_REJECTED, .message = behind(506, "hunter2hunter2")}};
    static char whole[8192];
    memset(whole, 'y', 4090);
    strcpy(whole + 4090, "hunter2hunter2");
    switchyard_outcome outcome = {.kind = SWITCHYARD_REJECTED, .message = bytes(whole)};
    host->complete(host->context, batch->token, &outcome, &one, 1);
  } else if (says(events, "\"print\"")) {
    printf("data that is none\n");
    fflush(stdout);
    fprintf(stderr, "\033[2Jhunter2 in a complaint\n");
    end(batch, SWITCHYARD_DELIVERED, bytes(""));
  } else if (says(events, "\"flood\"")) {
    for (int i = 0; i < 20000; i++) fprintf(stderr, "complaint %d\n", i);
    for (int i = 0; i < 20000; i++) host->log(host->context, 1, bytes("chatter"));
    end(batch, SWITCHYARD_DELIVERED, bytes(""));
  } else if (says(events, "\"forge\"")) {
    forge_lines(1000);
    end(batch, SWITCHYARD_DELIVERED, bytes(""));
  } else if (says(events, "\"streams\"")) {
    memset(text, 0, 200);
    if (readlink("/proc/self/fd/0", text, 50) < 0) abort();
    strcat(text, " ");
    if (readlink("/proc/self/fd/1", text + strlen(text), 50) < 0) abort();
    end(batch, SWITCHYARD_REJECTED, bytes(text));
  } else if (says(events, "\"fork\"")) {
    /* The child leaves the process group and holds every descriptor, including the socket of the router. */
    if (fork() == 0) {
      setsid();
      if (fork() == 0) for (;;) pause();
      for (;;) pause();
    }
    abort();
  } else if (says(events, "\"variables\"")) {
    snprintf(text, sizeof text, "%s|%s|%s", getenv("SWITCHYARD_TEST_SECRET") ? "leaked" : "clean",
             getenv("MINE") ? getenv("MINE") : "", getenv("PATH") ? "path" : "");
    end(batch, SWITCHYARD_REJECTED, bytes(text));
  } else if (says(events, "\"echo hunter2\"")) {
    end(batch, SWITCHYARD_REJECTED, events);
  } else if (says(events, "\"descriptors\"")) {
    list_descriptors();
    end(batch, SWITCHYARD_REJECTED, bytes(text));
  } else if (says(events, "\"settings\"")) {
    look_for_settings();
    end(batch, SWITCHYARD_REJECTED, bytes(text));
  } else if (says(events, "\"process\"")) {
    snprintf(text, sizeof text, "%d", (int)getpid());
    end(batch, SWITCHYARD_REJECTED, bytes(text));
  } else if (says(events, "\"twice\"")) {
    end(batch, SWITCHYARD_DELIVERED, bytes(""));
    end(batch, SWITCHYARD_REJECTED, bytes("again"));
  } else if (says(events, "\"mixed\"")) {
    switchyard_outcome whole = {.kind = SWITCHYARD_DELIVERED};
    switchyard_event_outcome one = {1, {.kind = SWITCHYARD_RETRY, .code = 429, .retry_after_ms = 1500, .message = bytes("later")}};
    host->complete(host->context, batch->token, &whole, &one, 1);
  } else if (says(events, "\"echo\"")) {
    end(batch, SWITCHYARD_REJECTED, batch->count == 2 && batch->arrivals[1] == 7 && batch->ends[1] == events.size ? events : bytes("torn"));
  } else {
    end(batch, SWITCHYARD_DELIVERED, bytes(""));
  }
}

static void flush(void *instance, uint64_t token) {
  (void)instance;
  switchyard_outcome outcome = {.kind = SWITCHYARD_FAULT, .code = 28, .message = bytes("no space left")};
  host->complete(host->context, token, &outcome, NULL, 0);
}

static void reopen(void *instance) {
  (void)instance;
  host->closed(host->context, bytes("gone\n"));
}

static void destroy(void *instance) {
  (void)instance;
  host->log(host->context, 1, bytes("destroyed"));
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
