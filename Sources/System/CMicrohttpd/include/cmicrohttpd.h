/* Calls libmicrohttpd without variadic functions, only as far as the Swift code needs it. The library is loaded when a listener starts. A
   program that never listens neither links it nor loads it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct MHD_Daemon *cmicrohttpd_daemon;
typedef struct MHD_Connection *cmicrohttpd_connection;

/* Loads the library. Returns NULL, or a message that names what is missing and which Debian package has it. */
const char *cmicrohttpd_load(void);

/* The callbacks. The single thread of the daemon calls them. */
typedef struct {
  void *context;
  /* A connection started. The other callbacks get the returned value as `peer`. */
  void *(*opened)(void *context, int socket);
  void (*closed)(void *context, void *peer);
  /* A request line was read. The other callbacks get the returned value as `request`. */
  void *(*named)(void *context, const char *uri);
  /* The head was read (`is_first`), a part of the body arrived (`size` > 0), or the whole body has arrived (`size` is 0). `connection` is
     valid until `ended`. A return value of 0 closes the connection. */
  int (*received)(void *context, void *peer, void *request, cmicrohttpd_connection connection, int is_first, const char *method,
                  const char *version, const char *data, size_t size);
  void (*ended)(void *context, void *peer, void *request);
} cmicrohttpd_calls;

typedef struct {
  int socket;
  unsigned connections, connections_by_address;
  size_t head_bytes;
  /* PEM texts and GnuTLS priorities. All are NULL without TLS, and `clients` is NULL without client certificates. */
  const char *certificate, *key, *clients, *priorities;
} cmicrohttpd_options;

/* Starts a daemon. `calls` must outlive it. Returns NULL if it cannot start, and writes the library's message into `why`. */
cmicrohttpd_daemon cmicrohttpd_start(const cmicrohttpd_options *options, const cmicrohttpd_calls *calls, char *why, size_t why_size);
/* Stops accepting connections. The caller owns the listening socket again. */
int cmicrohttpd_quiesce(cmicrohttpd_daemon daemon);
/* Stops the daemon. No connection may be suspended at that time. */
void cmicrohttpd_stop(cmicrohttpd_daemon daemon);

void cmicrohttpd_suspend(cmicrohttpd_connection connection);
/* May be called from any thread. */
void cmicrohttpd_resume(cmicrohttpd_connection connection);

/* Calls `each` for every header until it returns false. Returns 0 if a line of the head is not as strict as RFC 9112 demands. The library
   reads lines that end in a bare line feed, that continue on the next line or that contain a zero byte in a way of its own, and has no
   setting against it. But it reads a head in place: a strict line is followed by the next one after exactly two bytes. `version` is the
   text that `received` got. */
int cmicrohttpd_headers(cmicrohttpd_connection connection, const char *version, void *context,
                        int (*each)(void *context, const char *name, size_t name_size, const char *value, size_t value_size));

/* Queues a reply. `headers` holds names and values alternately. Returns 1 if the reply was queued. */
int cmicrohttpd_reply(cmicrohttpd_connection connection, unsigned status, const void *body, size_t size, const char *const *headers,
                      size_t header_count);

/* Returns 1 if the client presented a certificate that the configured authorities verify. */
int cmicrohttpd_is_trusted(cmicrohttpd_connection connection);
