/* libmicrohttpd, looked up when a listener starts and not before: a program that never listens neither links nor loads it.
   What the Swift side needs of it and no more, without variadic calls. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct MHD_Daemon *cmicrohttpd_daemon;
typedef struct MHD_Connection *cmicrohttpd_connection;

/* Loads the library. NULL, or in words for a person what is missing and which Debian package has it. */
const char *cmicrohttpd_load(void);

/* All are called on the daemon's one thread. */
typedef struct {
  void *context;
  /* A connection began; what it returns is handed to the others as `peer`. */
  void *(*opened)(void *context, int socket);
  void (*closed)(void *context, void *peer);
  /* A request line was read; what it returns is handed to the others as `request`. */
  void *(*named)(void *context, const char *uri);
  /* The head was read (`is_first`), a piece of the body came (`size` > 0), or all of it has (`size` 0). `connection` is good
     until `ended`. False closes the connection. */
  int (*received)(void *context, void *peer, void *request, cmicrohttpd_connection connection, int is_first, const char *method,
                  const char *version, const char *data, size_t size);
  void (*ended)(void *context, void *peer, void *request);
} cmicrohttpd_calls;

typedef struct {
  int socket;
  unsigned connections, connections_by_address;
  size_t head_bytes;
  /* PEM texts and GnuTLS priorities; NULL without TLS, and `clients` without client certificates. */
  const char *certificate, *key, *clients, *priorities;
} cmicrohttpd_options;

/* `calls` must outlive the daemon. NULL when it could not start; `why` then holds the library's words. */
cmicrohttpd_daemon cmicrohttpd_start(const cmicrohttpd_options *options, const cmicrohttpd_calls *calls, char *why, size_t why_size);
/* Accepts no more connections; the listening socket is the caller's again. */
int cmicrohttpd_quiesce(cmicrohttpd_daemon daemon);
/* No connection may be suspended any more. */
void cmicrohttpd_stop(cmicrohttpd_daemon daemon);

void cmicrohttpd_suspend(cmicrohttpd_connection connection);
/* From any thread. */
void cmicrohttpd_resume(cmicrohttpd_connection connection);

/* Calls `each` for every header until it returns false. */
void cmicrohttpd_headers(cmicrohttpd_connection connection, void *context,
                         int (*each)(void *context, const char *name, size_t name_size, const char *value, size_t value_size));

/* `headers` holds names and values in turn. Whether the reply was queued. */
int cmicrohttpd_reply(cmicrohttpd_connection connection, unsigned status, const void *body, size_t size, const char *const *headers,
                      size_t header_count);

/* Whether the client showed a certificate that the configured authorities vouch for. */
int cmicrohttpd_is_trusted(cmicrohttpd_connection connection);
