/*
 * The interface between the router and a provider module, version 1. switchyard_source.h is that of a module that brings events.
 *
 * A module is a shared library that exports switchyard_plugin_entry(). Only the C values below cross this interface.
 *
 * Versions. SWITCHYARD_ABI_VERSION changes when an existing member changes its meaning. A host refuses a module of another version. A
 * new member is added at the end of its struct, and struct_size announces it. A host accepts a shorter table from an older module and
 * treats the missing members as NULL. A module does the same with the host's structs.
 *
 * Threads. For one instance the router calls deliver, flush, erase, preview and probe from one thread at a time. It calls create before
 * and destroy after every other call. It may call reopen while a delivery is active. It calls erase_subjects from a thread of its own, also
 * while deliver or flush has not returned, but not before the last erasure of the instance has ended. A module may call the functions of
 * the host from any thread, but never after destroy has returned. The router never calls destroy from inside such a call.
 *
 * Signals. The router ignores SIGPIPE and SIGXFSZ, so a closed pipe and a file that is too large are errors of the write call.
 *
 * Memory. Each side frees what it allocated. The bytes passed to a call are valid until the call returns. The bytes of a batch are
 * valid for longer: see switchyard_batch.
 *
 * Trust. A module's constructors run when it is loaded, before any check, so installing a module means trusting it. The router loads a
 * module twice. The first process only reads the description and then ends; after 10 s it is killed without notice. The second process
 * makes the instances. Both processes load a copy of the file, so $ORIGIN in its run path does not lead to the folder of the module.
 *
 * Exit. Only the router ends the process. A module never calls exit. If it calls exit inside create, the settings are refused. If it
 * calls exit anywhere else, the calling thread is suspended forever, the instance is not called again, and the router ends.
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

/* Bytes that belong to the side that allocated them. They are not terminated by a zero byte. Text is UTF-8. */
typedef struct switchyard_bytes {
  const uint8_t *data;
  size_t size;
} switchyard_bytes;

/* The outcome of a batch, or of one event in it. */
typedef enum switchyard_outcome_kind {
  SWITCHYARD_DELIVERED = 0,
  /* The destination refuses it permanently. If the whole batch is refused, the router halves it until the bad event is alone. */
  SWITCHYARD_REJECTED = 1,
  /* The destination does not accept it now; the router sends it again after retry_after_ms. For a whole batch this pause applies to the
     destination: the router delivers nothing to the instance until the pause ends (at most one hour). For a single event only that event
     waits. */
  SWITCHYARD_RETRY = 2,
  /* It may have been delivered. The router sends it again with the same message ids. */
  SWITCHYARD_UNKNOWN = 3,
  /* The configuration is wrong, not the events. The router keeps the events, reports the fault once, and probes until it is corrected. */
  SWITCHYARD_FAULT = 4,
  /* The destination is permanently gone, such as a pipe whose reader left. The lane ends. */
  SWITCHYARD_CLOSED = 5,
  /* Nothing of it left, because may_begin answered 0. The router removes the events that may not leave, and hands the others over again at
     once; the attempt does not count. Without such an answer the outcome counts as SWITCHYARD_RETRY. */
  SWITCHYARD_UNTRIED = 6
} switchyard_outcome_kind;

typedef struct switchyard_outcome {
  uint32_t kind;           /* a switchyard_outcome_kind */
  int32_t code;            /* the provider's own number, such as an HTTP status or an errno; 0 if there is none */
  uint64_t retry_after_ms; /* for SWITCHYARD_RETRY; 0 if the router chooses the time */
  switchyard_bytes message; /* one line of UTF-8, for people */
} switchyard_outcome;

/* The outcome of the event at `index`, if it differs from the outcome of its batch. */
typedef struct switchyard_event_outcome {
  uint64_t index;
  switchyard_outcome outcome;
} switchyard_event_outcome;

/* The functions that the router passes to create. They are valid until destroy returns. */
typedef struct switchyard_host switchyard_host;
struct switchyard_host {
  uint32_t abi_version;
  uint32_t struct_size;
  void *context; /* belongs to the router; the module passes it back in each call */

  /* Logs one line for the operator of the router. The level is 0 for debug, 1 for information, 2 for warning and 3 for error. Never log
     event contents or secrets. For each level (2 and 3 together) a provider may log 100 lines at once and then 10 a second. The router
     drops and counts the other lines. */
  void (*log)(void *context, int32_t level, switchyard_bytes message);

  /* Ends the delivery, flush or erasure that carried this token. The module calls it exactly once, from any thread, possibly before
     deliver returns. `events` lists the events whose outcome differs from `batch`, by rising index. A second call is counted and
     ignored. */
  void (*complete)(void *context, uint64_t token, const switchyard_outcome *batch, const switchyard_event_outcome *events,
                   size_t events_count);

  /* Reports that the destination is permanently gone, while no delivery is active. */
  void (*closed)(void *context, switchyard_bytes message);

  /* Asks whether these events of the delivery may leave now: indices into its batch, or NULL for all of its events. A module that
     announces "asks" calls it immediately before the bytes of a request leave, also when it sends a request again. Any thread may call it,
     also from inside deliver.
     Returns 1 if all of them may leave. They count as in flight from then on. Returns 0 if a subject of one of them has withdrawn since,
     or if the delivery was given up. Then none of them may leave: the module begins no further request of this delivery, and completes it
     with SWITCHYARD_UNTRIED for the events that did not leave. An older host does not have this member; then everything may leave. */
  int32_t (*may_begin)(void *context, uint64_t token, const uint64_t *events, size_t count);
};

/* Events for one delivery. The struct itself is valid until deliver returns; the memory that it points to is valid until the delivery
   is completed. */
typedef struct switchyard_batch {
  uint32_t struct_size;
  uint32_t attempt;      /* 1 for the first attempt to deliver these events */
  uint64_t token;        /* the module passes it to complete */
  switchyard_bytes ndjson; /* one event per line, each ended by '\n' */
  const uint64_t *ends;  /* for each event, the offset one past its '\n' */
  const int64_t *arrivals; /* for each event, its arrival time in nanoseconds since 1970 */
  size_t count;
} switchyard_batch;

/* One request that deliver would send, for a person to read. The bytes are valid until the call that passes it returns. */
typedef struct switchyard_request {
  uint32_t struct_size;
  switchyard_bytes method;  /* such as POST */
  switchyard_bytes url;     /* with *** in the place of each secret */
  switchyard_bytes headers; /* one per line, each ended by '\n', with *** in the place of each secret */
  switchyard_bytes body;    /* before it is compressed, with *** in the place of each secret */
  const uint64_t *events;   /* for each part of the body, the index of its event in the batch; an index may come twice */
  size_t events_count;
} switchyard_request;

/* Where a module writes what it would send. The router passes it to preview; it is valid until preview returns. */
typedef struct switchyard_preview {
  uint32_t struct_size;
  void *context; /* belongs to the router; the module passes it back in each call */

  /* Passes one request, in the order in which deliver would send them. */
  void (*request)(void *context, const switchyard_request *request);

  /* deliver would not send the event at this index, and would answer SWITCHYARD_REJECTED. The reason is one line of UTF-8. */
  void (*refused)(void *context, uint64_t index, switchyard_bytes reason);

  /* deliver would send the event at this index, and something of it would be lost, such as the end of a long text. It may be called
     several times for an event. The text is one line of UTF-8, and is the same for the same kind of loss. */
  void (*loses)(void *context, uint64_t index, switchyard_bytes what);
} switchyard_preview;

/* What a probe has found out. */
typedef enum switchyard_probe_kind {
  /* The destination answered, and accepts the credentials and the settings that it can judge. */
  SWITCHYARD_PROBE_ACCEPTED = 0,
  /* The destination answered, and refuses them. */
  SWITCHYARD_PROBE_REFUSED = 1,
  /* The destination was reached, and it cannot be asked about the credentials without storing something. */
  SWITCHYARD_PROBE_REACHED = 2,
  /* There was no answer that says anything. */
  SWITCHYARD_PROBE_FAILED = 3
} switchyard_probe_kind;

/* The most bytes of the state of an erasure. */
#define SWITCHYARD_MOST_ERASURE_STATE 8192u

/* One call of a job that erases subjects at the destination. The struct and its bytes are valid until erase_subjects returns. */
typedef struct switchyard_erasure {
  uint32_t struct_size;
  uint32_t attempt;      /* 1 for the first call of the job */
  uint64_t token;        /* the module passes it to ended */
  int64_t begun;         /* when the job was begun, in nanoseconds since 1970; every call of the job has the same time */
  uint64_t deadline_ms;  /* the erasure ends within this time; long work is done in parts, and each part answers SWITCHYARD_RETRY */
  /* A JSON array of the subjects that are still to be erased: [{"member":"userId","id":"u1"}]. "member" is the path of the member of the
     event that held the id when the provider got it. A provider that got hashed ids gets the hashes here. */
  switchyard_bytes subjects;
  switchyard_bytes state; /* what the last call of the job passed to ended; empty for the first call */
  void *context;          /* belongs to the router; the module passes it back to ended */

  /* Ends the call. The module calls it exactly once, from any thread, possibly before erase_subjects returns, and not after destroy has
     returned. The outcome means:
       SWITCHYARD_DELIVERED  the destination has confirmed that it holds nothing of the subjects any more. Never said for a request that
                             was only accepted: that is SWITCHYARD_RETRY.
       SWITCHYARD_RETRY      the destination is at work, or busy. The router calls again after retry_after_ms, or at a time of its own.
       SWITCHYARD_REJECTED   the destination cannot erase the subjects. The message says what a person must do there by hand.
       SWITCHYARD_UNKNOWN    there was no answer that says anything. The router calls again.
       SWITCHYARD_FAULT      the configuration is wrong. The router reports it and calls again, until the configuration is corrected.
       SWITCHYARD_CLOSED     the destination is gone. Its data is not erased.
     `subjects` lists the subjects whose outcome differs, by rising index. The job does not name a subject again that was delivered or
     rejected. The message is one line of UTF-8 for people and holds no id and no secret. `state` is at most
     SWITCHYARD_MOST_ERASURE_STATE bytes that the router keeps over restarts, encrypted, until the job is done, and passes to the next call
     of the job, such as the number under which a vendor works on it. If it is longer, the outcome is unknown and the last state stays. */
  void (*ended)(void *context, uint64_t token, const switchyard_outcome *outcome, const switchyard_event_outcome *subjects,
                size_t subjects_count, switchyard_bytes state);
} switchyard_erasure;

typedef struct switchyard_plugin {
  uint32_t abi_version; /* SWITCHYARD_ABI_VERSION when the module was built */
  uint32_t struct_size; /* sizeof(switchyard_plugin) when the module was built */

  /* Returns a JSON object. Its memory stays valid for the whole life of the process:
     { "name": "mine", "version": "1.0.0", "summary": "Sends events to mine.",
       "settings": { "type": "object", "properties": { ... }, "required": [ ... ], "additionalProperties": false },
       "limits": { "events": 500, "bytes": 1000000 },
       "capabilities": { "erase": false, "deduplicates": false, "concurrency": 1, "streams": false, "asks": false },
       "delivery": { "batch": { "events": 500, "bytes": "1MB", "wait": "1s" }, "ordered": true, "deadline": "60s" },
       "mapping": [ { "from": "userId", "to": "distinct_id", "note": "..." }, { "from": "everything else", "to": "extra", "rest": true } ],
       "by_hand": "Delete the person in Mine under People, or write to privacy@mine.example.",
       "refuses": [ { "topic": "name_length", "most": 40, "what": "names of events of more than 40 characters" } ],
       "cuts": [ { "topic": "value_length", "most": 100, "what": "values of more than 100 characters, if long_values is cut" } ] }
     routes.json refers to the module by "name". "settings" is a JSON Schema. It may use properties, type, enum, minimum, maximum,
     pattern, required, default, additionalProperties, items, description and writeOnly, which is true for a secret. Its formats are
     "size" ("16MB") and "duration" ("500ms"), and "expression" and "condition" for CEL. A schema of several types has anyOf instead of
     type.
     "streams" is true if the module itself writes to the router's standard output or standard error. If it is false, an isolated module
     has no standard input and no standard output. Each line of its standard error then becomes a line of the router's log. "asks" is
     true if the module calls may_begin before each request. If it is false, all events of a delivery count as in flight from the call of
     deliver on, so such a module must not announce a greater concurrency than it can send at once. "limits", "capabilities", "delivery",
     "by_hand", "mapping", "refuses" and "cuts" may be omitted. "delivery" holds only the values that differ from the router's defaults.
     "erase" is true if the module has erase_subjects (or erase). "by_hand" is one line that says what a person does to erase someone at
     the destination without the module.
     "mapping", "refuses" and "cuts" are for people who compare destinations, and the router never acts on them. A row of "mapping" says
     where a member of an event goes; "rest" is true in the row for all members that no other row names. A row of "refuses" or "cuts" says
     what of an event is refused or cut. Its topic is name_length, reserved_name, property_count, property_name, value_length, depth, id,
     kind, age, size or other, and "most" is the limit if there is one: characters, members, levels, seconds of age or bytes. */
  switchyard_bytes (*describe)(void);

  /* Makes an instance from settings that the router has checked against the schema. Defaults are filled in; sizes are bytes and
     durations are milliseconds, both as integers. Returns NULL to refuse the settings; then `error` holds the reason, one line of UTF-8,
     cut to `error_size` bytes including its terminating zero. `switchyard check` also makes an instance and destroys it at once.
     Therefore create only checks the settings. It does not connect, open or write anything; the first delivery does. */
  void *(*create)(const switchyard_host *host, switchyard_bytes settings, char *error, size_t error_size);

  /* Starts a delivery. The delivery ends with one call of host->complete, within the provider's delivery.deadline (60 s unless
     configured). After the deadline the router treats the outcome as unknown and may deliver again. The events stay readable until
     complete is called; that late call is counted and changes nothing. If deliver does not return, the router does not call it a second
     time; the lane waits. If too many calls of a module are past their deadline (delivery.abandon), the router calls only destroy. */
  void (*deliver)(void *instance, const switchyard_batch *batch);

  /* Writes everything delivered so far to its final place. Ends with one call of host->complete. May be NULL. */
  void (*flush)(void *instance, uint64_t token);

  /* Ends the instance and waits for its own threads. A delivery that is still open must be completed here or never. */
  void (*destroy)(void *instance);

  /* Reopens files that were moved away (SIGHUP). May be NULL. */
  void (*reopen)(void *instance);

  /* Asks the provider to erase the data of subjects, given as a JSON array of ids. Ends with one call of host->complete. May be NULL. The
     router does not call it: erase_subjects has taken its place. */
  void (*erase)(void *instance, switchyard_bytes subjects, uint64_t token);

  /* Passes to `preview` what deliver would send for these events at this moment, or why it would refuse them, and returns when all is
     passed. It never connects, opens or writes anything, it changes nothing that a later call could notice, and it does not call
     host->complete: the batch's token means nothing. The batch is valid until the call returns. May be NULL. */
  void (*preview)(void *instance, const switchyard_batch *batch, const switchyard_preview *preview);

  /* Asks the destination whether it accepts the credentials and settings of the instance, without sending an event and without storing
     anything there. If there is no way to ask that, it only connects. Calls `found` exactly once, with a switchyard_probe_kind, the
     destination's own number such as an HTTP status (or 0), and one line of UTF-8 without secrets, and returns within `deadline_ms`.
     `found` gets `context` back. May be NULL. */
  void (*probe)(void *instance, uint64_t deadline_ms, void *context,
                void (*found)(void *context, uint32_t kind, int32_t code, switchyard_bytes message));

  /* Erases subjects at the destination, or asks how far the destination is. Ends with one call of erasure->ended. A second call with the
     same subjects must do no harm: after a restart the router repeats a call whose answer it does not know. The call comes on a
     thread of its own, also during deliver. May be NULL. */
  void (*erase_subjects)(void *instance, const switchyard_erasure *erasure);
} switchyard_plugin;

/* The symbol that a module with a provider exports. Returns its table, which stays valid for the whole life of the process. */
SWITCHYARD_EXPORT const switchyard_plugin *switchyard_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
