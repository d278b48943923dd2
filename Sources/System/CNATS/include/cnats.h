/* The functions of libnats that Switchyard uses. The library is loaded when a provider first connects. No program and no module links it, so
   a router without such a provider needs neither the library nor its memory.

   The types of the library do not appear here. So a module can be built where the headers of the library are missing; then cnats_load says
   what to install. Apart from cnats_is_found and cnats_load, no function may be called before cnats_load has returned 1.

   The library starts threads of its own, and calls the functions of cnats_calls on them. None of the functions below may be called from
   such a call. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns 1 if the library is in a folder in which the dynamic linker looks. The file is not opened. If it returns 0, only cnats_load can
   tell whether the library is there. */
int cnats_is_found(void);

/* What the library says about a call. */
typedef enum cnats_status {
  CNATS_OK = 0,
  /* There is no connection, or it was lost. */
  CNATS_CLOSED,
  /* The server does not accept the credentials. */
  CNATS_CREDENTIALS,
  /* TLS could not be established: a certificate, or a side without TLS. */
  CNATS_TLS,
  /* The message is larger than the server accepts. */
  CNATS_TOO_LARGE,
  /* The server does not support headers of messages. */
  CNATS_NO_HEADERS,
  /* Nobody answers a request. */
  CNATS_NOBODY,
  CNATS_TIMEOUT,
  CNATS_NO_MEMORY,
  /* A setting that the library does not accept, such as a file that it cannot read. */
  CNATS_SETTING,
  CNATS_OTHER
} cnats_status;

/* How to connect to one server. Texts that are NULL are not set. */
typedef struct cnats_options {
  const char *url;
  /* The name of the connection, which the server shows in its lists. */
  const char *name;
  int is_secure;
  /* The name that the certificate of the server must hold. */
  const char *host;
  const char *authorities, *certificate, *key;
  const char *user, *password, *token;
  /* The file with a JWT and a seed; and the public key and the file with the seed of an nkey. */
  const char *credentials, *nkey, *seed;
  int64_t connect_milliseconds, write_milliseconds, ping_milliseconds;
} cnats_options;

/* A message that has come to the inbox of a connection. Its memory is valid during the call. */
typedef struct cnats_message {
  /* An answer has the subject at which it was asked for, which ends with what was given as the end of the reply. A message of a stream has
     the subject under which it was published, and a reply at which the server takes its acknowledgement. Otherwise `reply` is NULL. */
  const char *subject, *reply;
  const char *data;
  size_t size;
  /* What the server says instead of a message, such as 503 if nobody takes it, and the words for it, which may be NULL. 0 if it says nothing. */
  int status;
  const char *words;
} cnats_message;

/* What the library calls, for every connection, with the number that was given to cnats_connect. A call may come after cnats_close has
   returned. */
typedef struct cnats_calls {
  void (*received)(uintptr_t number, const cnats_message *message);
  /* The server reports an error that does not end the connection, such as a subject that is not permitted. */
  void (*reported)(uintptr_t number, const char *words);
  /* The connection has ended, by either side. */
  void (*closed)(uintptr_t number);
} cnats_calls;

/* Loads the library, once in the process. Returns 1 if it can be used. Otherwise returns 0 and writes the reason and the remedy into `why`; a
   later call tries again. Any thread may call it. */
int cnats_load(const cnats_calls *calls, char *why, size_t why_size);

typedef struct cnats_connection cnats_connection;

/* Connects to one server, and subscribes to `inbox` followed by any token if `inbox` is not NULL. The connection never reconnects: once it is
   lost it only can be closed. Returns NULL and writes the reason into `why` if it fails. */
cnats_connection *cnats_connect(const cnats_options *options, const char *inbox, uintptr_t number, cnats_status *status, char *why,
                                size_t why_size);

/* Ends the connection and frees it. */
void cnats_close(cnats_connection *connection);

int cnats_is_open(cnats_connection *connection);

/* The most bytes of a message and its headers that the server accepts. */
int64_t cnats_most_bytes(cnats_connection *connection);

/* Gives a message to the connection, which sends it soon. `id` is the header Nats-Msg-Id and `stream` the header Nats-Expected-Stream; each
   may be NULL. */
cnats_status cnats_publish(cnats_connection *connection, const char *subject, const char *reply, const char *id, const char *stream,
                           const char *data, int size);

/* Ends the subscription to the inbox. The server is told before anything that is published later. */
void cnats_unsubscribe(cnats_connection *connection);

/* Waits until the server has read everything that the connection was given before, or until the time is up. */
cnats_status cnats_flush(cnats_connection *connection, int64_t milliseconds);

/* Sends a request and waits for the answer, of which it writes at most `room` bytes. Returns the size of the answer in `size`. */
cnats_status cnats_request(cnats_connection *connection, const char *subject, const char *data, int data_size, int64_t milliseconds,
                           char *answer, size_t room, size_t *size);

/* Makes a new inbox: a subject that no one else has. Writes at most `room` bytes, including the final zero. */
int cnats_inbox(char *inbox, size_t room);
