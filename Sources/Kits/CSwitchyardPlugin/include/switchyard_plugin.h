/*
 * The boundary between the router and a provider module, version 1.
 *
 * A module is a shared library that exports switchyard_plugin_entry(). Only the C values below cross the boundary.
 *
 * Versions. SWITCHYARD_ABI_VERSION changes when an existing member changes its meaning; a host refuses a module of another
 * version. New members are added at the end of a struct and announced by struct_size: a host takes a shorter table from
 * an older module and treats what is missing as NULL; a module does the same with the host's structs.
 *
 * Threads. For one instance the router calls deliver, flush and erase from one thread at a time; create comes before and
 * destroy after every other call. reopen may come while a delivery is under way. Callbacks of the host may be called from any
 * thread; none may be called once destroy has returned. The router never calls destroy from within a callback.
 *
 * Signals. The router ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file that is too large are errors of the write.
 *
 * Memory. Each side frees what it allocated. Bytes given to a call last until it returns, but for those of a batch (see there).
 *
 * Trust. A module's constructors run when it is loaded, before any check: to install a module is to trust it. It is loaded first by
 * a process that only reads its description and then ends, killed without a word after 10 s, and then by the one that makes instances;
 * both load a copy of the file, so that $ORIGIN in its run path leads nowhere.
 *
 * The end of the process is the router's. A module never calls exit: in create the call refuses the settings, elsewhere its thread stands
 * still for good, the instance is not called again, and the router ends.
 */
#ifndef SWITCHYARD_PLUGIN_H
#define SWITCHYARD_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWITCHYARD_ABI_VERSION 1u
#define SWITCHYARD_PLUGIN_ENTRY "switchyard_plugin_entry"
#define SWITCHYARD_EXPORT __attribute__((visibility("default")))

/* Bytes that belong to whoever made them; not terminated by a zero byte. Text is UTF-8. */
typedef struct switchyard_bytes {
  const uint8_t *data;
  size_t size;
} switchyard_bytes;

/* What became of a batch, or of one event in it. */
typedef enum switchyard_outcome_kind {
  SWITCHYARD_DELIVERED = 0,
  /* Refused for good. A whole batch is halved by the router until the bad event stands alone. */
  SWITCHYARD_REJECTED = 1,
  /* Not taken now: to be sent again after retry_after_ms. Of a whole batch that is a time of the destination: the router delivers
     nothing to the instance before it is over (an hour at most). Of a single event only that event waits for it. */
  SWITCHYARD_RETRY = 2,
  /* It may have been delivered; it is sent again with the same message ids. */
  SWITCHYARD_UNKNOWN = 3,
  /* The configuration is at fault, not the events: they are kept, it is said once, and the router probes until it is mended. */
  SWITCHYARD_FAULT = 4,
  /* The destination is gone for good, such as a pipe whose reader left: the lane ends. */
  SWITCHYARD_CLOSED = 5
} switchyard_outcome_kind;

typedef struct switchyard_outcome {
  uint32_t kind;           /* a switchyard_outcome_kind */
  int32_t code;            /* the provider's own number, such as an HTTP status or an errno; 0: none */
  uint64_t retry_after_ms; /* for SWITCHYARD_RETRY; 0: when the router thinks fit */
  switchyard_bytes message; /* for people; one line, UTF-8 */
} switchyard_outcome;

/* The outcome of the event at `index`, where it differs from that of its batch. */
typedef struct switchyard_event_outcome {
  uint64_t index;
  switchyard_outcome outcome;
} switchyard_event_outcome;

/* What the router lends a module at create; valid until destroy returns. */
typedef struct switchyard_host switchyard_host;
struct switchyard_host {
  uint32_t abi_version;
  uint32_t struct_size;
  void *context; /* the router's own; passed back in each call */

  /* One line for the person who runs the router; level 0 debug, 1 information, 2 warning, 3 error. Never put event contents or secrets
     in. Of each level (2 and 3 together) a provider has 100 lines at once and 10 a second; the others are left out and counted. */
  void (*log)(void *context, int32_t level, switchyard_bytes message);

  /* Ends the delivery (or flush) that carried this token, exactly once, from any thread, also before deliver returns.
     `events` lists, by rising index, the events whose outcome differs from `batch`. A second call is counted and ignored. */
  void (*complete)(void *context, uint64_t token, const switchyard_outcome *batch, const switchyard_event_outcome *events,
                   size_t events_count);

  /* The destination was found to be gone for good while nothing was being delivered. */
  void (*closed)(void *context, switchyard_bytes message);
};

/* Events for one delivery. The struct itself lasts until deliver returns; what it points to, until the delivery is completed. */
typedef struct switchyard_batch {
  uint32_t struct_size;
  uint32_t attempt;      /* 1 for the first time these events are tried */
  uint64_t token;        /* to be given to complete */
  switchyard_bytes ndjson; /* one event a line, each ended by '\n' */
  const uint64_t *ends;  /* for each event the offset one past its '\n' */
  const int64_t *arrivals; /* for each event when it came in, in nanoseconds since 1970 */
  size_t count;
} switchyard_batch;

typedef struct switchyard_plugin {
  uint32_t abi_version; /* SWITCHYARD_ABI_VERSION as the module was built */
  uint32_t struct_size; /* sizeof(switchyard_plugin) as the module was built */

  /* A JSON object that lives as long as the process:
     { "name": "mine", "version": "1.0.0", "summary": "Sends events to mine.",
       "settings": { "type": "object", "properties": { ... }, "required": [ ... ], "additionalProperties": false },
       "limits": { "events": 500, "bytes": 1000000 },
       "capabilities": { "erase": false, "deduplicates": false, "concurrency": 1, "streams": false },
       "delivery": { "batch": { "events": 500, "bytes": "1MB", "wait": "1s" }, "ordered": true, "deadline": "60s" } }
     The name is what routes.json calls the module by. settings is a JSON Schema of type, enum, minimum, maximum, pattern,
     required, default, additionalProperties, items and description, with the formats "size" ("16MB") and "duration" ("500ms").
     streams: it writes to the router's standard output or standard error by itself. An isolated module that does not say so has no
     standard input and output, and each line of its standard error becomes a line of the router's log.
     limits, capabilities and delivery may be left out; delivery says only what differs from the router's own defaults. */
  switchyard_bytes (*describe)(void);

  /* Makes an instance from settings that the router has checked against the schema: defaults filled in, sizes in bytes,
     durations in milliseconds, both as integers. NULL refuses them; then `error` holds why, in one line of UTF-8, cut to
     `error_size` bytes with its terminating zero. `switchyard check` makes an instance too and destroys it at once: create
     judges the settings, and neither connects nor opens nor writes anything; the first delivery does. */
  void *(*create)(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size);

  /* Begins to deliver. Ends with one call of host->complete, within the provider's delivery.deadline (60 s unless configured).
     Past it the router takes the outcome for unknown and may deliver again; the events stay readable until complete is called,
     which then is counted and changes nothing. A call that does not return is never joined by a second one: its lane waits for
     it. A module that holds too many calls beyond their deadline (delivery.abandon) is not called any more, but for destroy. */
  void (*deliver)(void *instance, const switchyard_batch *batch);

  /* Everything delivered so far is to be where it belongs. Ends with one call of host->complete. May be NULL. */
  void (*flush)(void *instance, uint64_t token);

  /* Ends the instance. It waits for its own threads; a delivery that it still holds is completed here or never. */
  void (*destroy)(void *instance);

  /* A file that was moved away is to be opened anew (SIGHUP). May be NULL. */
  void (*reopen)(void *instance);

  /* Asks the provider to forget subjects: a JSON array of ids. Ends with one call of host->complete. May be NULL. */
  void (*erase)(void *instance, switchyard_bytes subjects, uint64_t token);
} switchyard_plugin;

/* The one symbol that a module exports: its table, which lives as long as the process. */
SWITCHYARD_EXPORT const switchyard_plugin *switchyard_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
