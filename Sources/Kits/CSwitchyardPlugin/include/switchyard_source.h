/*
 * The interface between the router and a module that brings events: a source, version 1.
 *
 * A source is a shared library that exports switchyard_source_entry(). One library may export this entry and switchyard_plugin_entry().
 * The two have versions of their own, and the same name. Only the C values below, and those of switchyard_plugin.h that they use, cross
 * this interface.
 *
 * What a source does. It reads from somewhere, such as a log with consumers, and hands over blocks of lines with a token each. The router
 * acknowledges a token when every event of its block has come to its end: delivered, in a durable queue, held on disk, denied, filtered,
 * sampled out, limited, a duplicate, invalid, dropped by a full queue, or dead. Nothing else means that an event is safe: a source forgets
 * an event, or commits an offset, only for tokens that were acknowledged. A token is acknowledged once or never. It is not acknowledged if
 * the router ends or is killed first, or if an event of its block was lost, such as a dead letter that could not be kept: then the source
 * gets the events again from where it reads, at the latest after a restart, and hands them over again.
 *
 * Versions. SWITCHYARD_SOURCE_ABI_VERSION changes when an existing member changes its meaning. A host refuses a module of another version.
 * A new member is added at the end of its struct, and struct_size announces it. A host accepts a shorter table from an older module and
 * treats the missing members as NULL. A module does the same with the host's structs.
 *
 * Threads. The router calls start, pause, resume, acknowledge, stop and destroy of one instance from one thread at a time, in an order that
 * the members below promise. It calls create before and destroy after every other call. It calls probe only for an instance that it does
 * not start. These calls return soon: while one of them has not returned, the instance gets no other call. A module may call the functions
 * of the host from any thread, also inside these calls, and several threads may do so at once. They never wait for another call of the
 * module to return. A call after destroy has returned has no effect.
 *
 * Signals, memory, trust and exit are as in switchyard_plugin.h.
 */
#ifndef SWITCHYARD_SOURCE_H
#define SWITCHYARD_SOURCE_H

#include "switchyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SWITCHYARD_SOURCE_ABI_VERSION 1u
#define SWITCHYARD_SOURCE_ENTRY "switchyard_source_entry"

/* The most bytes of the lines of a block. */
#define SWITCHYARD_MOST_BLOCK 1073741824u

/* Events that a source hands over together. The struct and everything that it points to are valid until submit returns. */
typedef struct switchyard_block {
  uint32_t struct_size;
  /* The module's own number for the block. No other block of the instance that is not acknowledged yet has the same. */
  uint64_t token;
  /* Blocks of one stream are judged in the order in which they were handed over. Blocks of different streams need not be. A stream is, for
     example, a partition. */
  uint64_t stream;
  /* Whole lines, each ended by '\n'. Each line is one event. A line that is empty or has only blanks is an invalid event, and so is a line
     that is longer than the host's most_line: they are reported and acknowledged as such, and harm no other line. */
  switchyard_bytes lines;
  size_t count;           /* the number of lines, at least 1 */
  switchyard_bytes origin; /* where the lines come from, such as a topic and a partition: one line of UTF-8 for people. It may be empty. */
  const int64_t *numbers; /* the number of each line at its origin, such as its offset; NULL if lines have none */
} switchyard_block;

/* What submit has done with a block. */
typedef enum switchyard_submission {
  /* The block was taken. Its token will be acknowledged, unless the router ends first or an event of the block is lost. */
  SWITCHYARD_TAKEN = 1,
  /* There is no room now, and nothing was taken. The module hands the block over again after the next call of resume. */
  SWITCHYARD_FULL = 0,
  /* The source is being stopped, or was not started yet. Nothing was taken, and nothing will be. */
  SWITCHYARD_CLOSING = -1,
  /* The block breaks a rule of switchyard_block, which the log of the router names: its last line has no end, the count is another than
     that of its lines, its token is in use, or it is empty or too large. Nothing was taken. It is a fault of the module, and to hand over the
     same block again has the same result. */
  SWITCHYARD_WRONG = -2
} switchyard_submission;

/* Whether a source can get events. */
typedef enum switchyard_source_state {
  SWITCHYARD_CONNECTING = 0,
  SWITCHYARD_CONNECTED = 1,
  /* It cannot go on until a person has changed something, such as credentials that the server refuses. It may try again by itself. */
  SWITCHYARD_SOURCE_FAULT = 2
} switchyard_source_state;

/* The functions that the router passes to create. They are valid until destroy returns. */
typedef struct switchyard_source_host switchyard_source_host;
struct switchyard_source_host {
  uint32_t abi_version;
  uint32_t struct_size;
  void *context;      /* belongs to the router; the module passes it back in each call */
  uint64_t most_line; /* the longest line that is an event, in bytes; of a longer one the module need not hand over more than one byte more */

  /* Logs one line for the operator of the router. The levels and the limits are those of switchyard_host. */
  void (*log)(void *context, int32_t level, switchyard_bytes message);

  /* Hands over a block. Returns a switchyard_submission at once; it never waits for room. The router has copied what it needs when it
     returns. The token may be acknowledged on another thread before it returns. */
  int32_t (*submit)(void *context, const switchyard_block *block);

  /* Reports how far the source is behind the end of what it reads: in events, and in milliseconds since the oldest of them came there.
     UINT64_MAX means that it does not know. It is shown to people, so a call every few seconds is enough. */
  void (*behind)(void *context, uint64_t events, uint64_t milliseconds);

  /* Reports whether the source can get events: a switchyard_source_state, and one line of UTF-8 for people without secrets. It is shown to
     people; the router does nothing else with it. Before the first call a source counts as connecting. */
  void (*state)(void *context, uint32_t kind, switchyard_bytes message);

  /* Reports that nothing more comes, such as the end of a file. Blocks that were handed over are still acknowledged, and later ones are
     refused as after stop. If all sources of the router are modules and all of them have ended, the router ends as it does after the end of
     standard input. */
  void (*ended)(void *context, switchyard_bytes message);
};

typedef struct switchyard_source {
  uint32_t abi_version; /* SWITCHYARD_SOURCE_ABI_VERSION when the module was built */
  uint32_t struct_size; /* sizeof(switchyard_source) when the module was built */

  /* Returns a JSON object. Its memory stays valid for the whole life of the process:
     { "name": "mine", "version": "1.0.0", "summary": "Reads events from mine.",
       "settings": { "type": "object", "properties": { ... }, "required": [ ... ], "additionalProperties": false } }
     routes.json refers to the module by "name", as "plugin" of a source. "stdin", "http" and "file" are sources of the router, so no module
     is found by these names as a source. The settings are described as in switchyard_plugin.h. "plugin", "consent", "in_flight", "isolate"
     and "lint" are keys of the router, so no setting has these names. */
  switchyard_bytes (*describe)(void);

  /* Makes an instance from settings that the router has checked against the schema. Everything is as for create of switchyard_plugin.h. In
     particular it only checks the settings: it does not connect, open or write anything, and hands over nothing. start does. */
  void *(*create)(const switchyard_source_host *host, switchyard_bytes settings, char *error, size_t error_size);

  /* Starts the source. It is called once. It does not wait for a connection: the module reads, connects and hands over on threads of its
     own. */
  void (*start)(void *instance);

  /* The router has as much as it holds for this source ("in_flight" of routes.json). The module hands over nothing until resume, and keeps
     what keeps its place where it reads from, such as the session of a consumer group. A block that it hands over nevertheless may be
     refused with SWITCHYARD_FULL. May be NULL. */
  void (*pause)(void *instance);

  /* There is room again. It is called after pause, and at least once after each SWITCHYARD_FULL. May be NULL. */
  void (*resume)(void *instance);

  /* Every event of these blocks has come to its end. The tokens come in the order in which the blocks ended, which need not be the order of
     a stream. The bytes of the blocks count as held until this call returns. The tokens are valid until it returns. */
  void (*acknowledge)(void *instance, const uint64_t *tokens, size_t count);

  /* Stops the source within that time: the module hands over nothing after it has returned. Tokens are still acknowledged, and the module
     still commits them. It is called once, before destroy, if the source was started. */
  void (*stop)(void *instance, uint64_t deadline_ms);

  /* Ends the instance and waits for its own threads. What was acknowledged is committed when it returns. */
  void (*destroy)(void *instance);

  /* Asks whether the source can connect with its settings and credentials, without taking an event and without changing anything there.
     `found` and `deadline_ms` are as for probe of switchyard_plugin.h. The module may call behind before found. May be NULL. */
  void (*probe)(void *instance, uint64_t deadline_ms, void *context,
                void (*found)(void *context, uint32_t kind, int32_t code, switchyard_bytes message));
} switchyard_source;

/* The symbol that a module with a source exports. Returns its table, which stays valid for the whole life of the process. */
SWITCHYARD_EXPORT const switchyard_source *switchyard_source_entry(void);

#ifdef __cplusplus
}
#endif
#endif
