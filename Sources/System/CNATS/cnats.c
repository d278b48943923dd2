#define _GNU_SOURCE
#include "cnats.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<nats/nats.h>)
#include <ccrypto.h>
#include <nats/nats.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
/* The interface of the library may change with its minor version, and so does its name. */
#define NAME "libnats.so." TEXT(NATS_VERSION_MAJOR) "." TEXT(NATS_VERSION_MINOR)
#define PACKAGE "libnats" TEXT(NATS_VERSION_MAJOR) "." TEXT(NATS_VERSION_MINOR)

#define FUNCTIONS(X)                                                                                                                       \
  X(natsOptions_Create) X(natsOptions_Destroy) X(natsOptions_SetURL) X(natsOptions_SetName) X(natsOptions_SetTimeout)                     \
  X(natsOptions_SetSecure) X(natsOptions_SetExpectedHostname) X(natsOptions_LoadCATrustedCertificates)                                    \
  X(natsOptions_LoadCertificatesChain) X(natsOptions_SetUserInfo) X(natsOptions_SetToken) X(natsOptions_SetUserCredentialsFromFiles)      \
  X(natsOptions_SetNKeyFromSeed) X(natsOptions_SetAllowReconnect) X(natsOptions_SetIgnoreDiscoveredServers)                               \
  X(natsOptions_SetWriteDeadline) X(natsOptions_SetPingInterval) X(natsOptions_SetErrorHandler) X(natsOptions_SetClosedCB)                \
  X(natsConnection_Connect) X(natsConnection_Destroy) X(natsConnection_IsClosed) X(natsConnection_GetMaxPayload)                          \
  X(natsConnection_PublishMsg) X(natsConnection_RequestMsg) X(natsConnection_Subscribe)                    \
  X(natsConnection_HasHeaderSupport) X(natsSubscription_SetPendingLimits) X(natsSubscription_Destroy) X(natsMsg_Create)                   \
  X(natsMsg_Destroy) X(natsMsg_GetSubject) X(natsMsg_GetData) X(natsMsg_GetDataLength) X(natsMsg_GetReply) X(natsMsgHeader_Set)           \
  X(natsMsgHeader_Get) X(natsConnection_FlushTimeout) X(natsSubscription_Unsubscribe)                                                      \
  X(natsInbox_Create) X(natsInbox_Destroy) X(nats_GetLastError) X(natsStatus_GetText)

static struct {
#define DECLARE(name) __typeof__(&name) name;
  FUNCTIONS(DECLARE)
#undef DECLARE
} lib;

/* --- Finding and loading */

int cnats_is_found(void) {
  void *program = dlopen(NULL, RTLD_LAZY);
  Dl_serinfo size, *folders = NULL;
  int is_found = 0;
  if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && (folders = malloc(size.dls_size)) &&
      dlinfo(program, RTLD_DI_SERINFOSIZE, folders) == 0 && dlinfo(program, RTLD_DI_SERINFO, folders) == 0) {
    for (unsigned int i = 0; !is_found && i < folders->dls_cnt; i++) {
      char path[4096];
      int length = snprintf(path, sizeof path, "%s/" NAME, folders->dls_serpath[i].dls_name);
      is_found = length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
    }
  }
  free(folders);
  if (program) dlclose(program);
  return is_found;
}

static int load(char *why, size_t why_size) {
  void *library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *words = dlerror();
    snprintf(why, why_size, "libnats cannot be loaded (%s); install the Debian package " PACKAGE, words ? words : NAME);
    return 0;
  }
#define FIND(name)                                                                                                                         \
  if (!(*(void **)&lib.name = dlsym(library, #name))) {                                                                                   \
    snprintf(why, why_size, NAME " lacks " #name "; install the Debian package " PACKAGE " again");                                       \
    dlclose(library);                                                                                                                      \
    return 0;                                                                                                                              \
  }
  FUNCTIONS(FIND)
#undef FIND
  crypto_stay();
  return 1;
}

static cnats_calls calls;

int cnats_load(const cnats_calls *given, char *why, size_t why_size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int is_loaded;
  pthread_mutex_lock(&lock);
  if (!is_loaded) {
    calls = *given;
    is_loaded = load(why, why_size);
  }
  int result = is_loaded;
  pthread_mutex_unlock(&lock);
  return result;
}

/* --- Connecting */

struct cnats_connection {
  natsConnection *connection;
  natsSubscription *inbox;
};

static cnats_status status_of(natsStatus status) {
  switch (status) {
    case NATS_OK: return CNATS_OK;
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED: return CNATS_CREDENTIALS;
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SSL_ERROR: return CNATS_TLS;
    case NATS_MAX_PAYLOAD: return CNATS_TOO_LARGE;
    case NATS_NO_SERVER_SUPPORT: return CNATS_NO_HEADERS;
    case NATS_NO_RESPONDERS: return CNATS_NOBODY;
    case NATS_TIMEOUT: return CNATS_TIMEOUT;
    case NATS_NO_MEMORY: return CNATS_NO_MEMORY;
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_NO_SERVER:
    case NATS_IO_ERROR:
    case NATS_STALE_CONNECTION:
    case NATS_INSUFFICIENT_BUFFER: return CNATS_CLOSED;
    default: return CNATS_OTHER;
  }
}

static void put_words(natsStatus status, char *why, size_t why_size) {
  natsStatus last = NATS_OK;
  const char *words = lib.nats_GetLastError(&last);
  snprintf(why, why_size, "%s", last == status && words && *words ? words : lib.natsStatus_GetText(status));
}

static void on_message(natsConnection *nats, natsSubscription *subscription, natsMsg *message, void *closure) {
  (void)nats;
  (void)subscription;
  cnats_message given = {.subject = lib.natsMsg_GetSubject(message),
                         .reply = lib.natsMsg_GetReply(message),
                         .data = lib.natsMsg_GetData(message),
                         .size = (size_t)lib.natsMsg_GetDataLength(message)};
  const char *status = NULL;
  /* The headers of a message with a reply belong to whoever has published it. */
  if (!given.reply && lib.natsMsgHeader_Get(message, "Status", &status) == NATS_OK) {
    given.status = atoi(status);
    if (lib.natsMsgHeader_Get(message, "Description", &given.words) != NATS_OK) given.words = NULL;
  }
  calls.received((uintptr_t)closure, &given);
  lib.natsMsg_Destroy(message);
}

static void on_error(natsConnection *nats, natsSubscription *subscription, natsStatus status, void *closure) {
  (void)nats;
  (void)subscription;
  /* The library has put the words of this error into the memory of its thread. */
  natsStatus last = NATS_OK;
  const char *words = lib.nats_GetLastError(&last);
  calls.reported((uintptr_t)closure, words && *words ? words : lib.natsStatus_GetText(status));
}

static void on_closed(natsConnection *nats, void *closure) {
  (void)nats;
  calls.closed((uintptr_t)closure);
}

/* Sets the credentials and TLS. */
static natsStatus secure(natsOptions *to, const cnats_options *from) {
  natsStatus s = NATS_OK;
  if (from->is_secure) {
    s = lib.natsOptions_SetSecure(to, true);
    if (s == NATS_OK && from->host) s = lib.natsOptions_SetExpectedHostname(to, from->host);
    if (s == NATS_OK && from->authorities) s = lib.natsOptions_LoadCATrustedCertificates(to, from->authorities);
    if (s == NATS_OK && from->certificate) s = lib.natsOptions_LoadCertificatesChain(to, from->certificate, from->key);
  }
  if (s == NATS_OK && from->user) s = lib.natsOptions_SetUserInfo(to, from->user, from->password);
  if (s == NATS_OK && from->token) s = lib.natsOptions_SetToken(to, from->token);
  if (s == NATS_OK && from->credentials) s = lib.natsOptions_SetUserCredentialsFromFiles(to, from->credentials, NULL);
  if (s == NATS_OK && from->nkey) s = lib.natsOptions_SetNKeyFromSeed(to, from->nkey, from->seed);
  return s;
}

static natsStatus set(natsOptions *to, const cnats_options *from, void *number) {
  natsStatus s = lib.natsOptions_SetURL(to, from->url);
  if (s == NATS_OK) s = lib.natsOptions_SetName(to, from->name);
  if (s == NATS_OK) s = lib.natsOptions_SetTimeout(to, from->connect_milliseconds);
  if (s == NATS_OK) s = lib.natsOptions_SetWriteDeadline(to, from->write_milliseconds);
  if (s == NATS_OK) s = lib.natsOptions_SetPingInterval(to, from->ping_milliseconds);
  /* A message that waits in a buffer for a new connection could leave after a withdrawal of consent. */
  if (s == NATS_OK) s = lib.natsOptions_SetAllowReconnect(to, false);
  if (s == NATS_OK) s = lib.natsOptions_SetIgnoreDiscoveredServers(to, true);
  if (s == NATS_OK) s = lib.natsOptions_SetErrorHandler(to, on_error, number);
  if (s == NATS_OK) s = lib.natsOptions_SetClosedCB(to, on_closed, number);
  return s == NATS_OK ? secure(to, from) : s;
}

/* Subscribes to the inbox. Its thread is never behind by more than what is in flight or was asked for, so nothing is dropped. */
static natsStatus subscribe(cnats_connection *own, const char *inbox, void *number) {
  char subject[300];
  int length = snprintf(subject, sizeof subject, "%s.*", inbox);
  if (length < 0 || (size_t)length >= sizeof subject) return NATS_INVALID_SUBJECT;
  natsStatus s = lib.natsConnection_Subscribe(&own->inbox, own->connection, subject, on_message, number);
  if (s == NATS_OK) s = lib.natsSubscription_SetPendingLimits(own->inbox, -1, -1);
  return s;
}

cnats_connection *cnats_connect(const cnats_options *options, const char *inbox, uintptr_t number, cnats_status *status, char *why,
                                size_t why_size) {
  cnats_connection *own = calloc(1, sizeof *own);
  natsOptions *set_options = NULL;
  natsStatus s = own ? lib.natsOptions_Create(&set_options) : NATS_NO_MEMORY;
  if (s != NATS_OK) {
    put_words(s, why, why_size);
    *status = CNATS_NO_MEMORY;
    free(own);
    return NULL;
  }
  s = set(set_options, options, (void *)number);
  int is_setting = s != NATS_OK;
  if (s == NATS_OK) s = lib.natsConnection_Connect(&own->connection, set_options);
  /* Without headers a server cannot say that nobody takes a message. */
  if (s == NATS_OK) s = lib.natsConnection_HasHeaderSupport(own->connection);
  if (s == NATS_OK && inbox) s = subscribe(own, inbox, (void *)number);
  if (s != NATS_OK) put_words(s, why, why_size);
  lib.natsOptions_Destroy(set_options);
  if (s == NATS_OK) {
    *status = CNATS_OK;
    return own;
  }
  *status = is_setting ? CNATS_SETTING : status_of(s);
  if (own->connection) cnats_close(own);
  else free(own);
  return NULL;
}

void cnats_close(cnats_connection *own) {
  lib.natsConnection_Destroy(own->connection);
  lib.natsSubscription_Destroy(own->inbox);
  free(own);
}

int cnats_is_open(cnats_connection *own) { return !lib.natsConnection_IsClosed(own->connection); }

int64_t cnats_most_bytes(cnats_connection *own) { return lib.natsConnection_GetMaxPayload(own->connection); }

/* --- Messages */

cnats_status cnats_publish(cnats_connection *own, const char *subject, const char *reply, const char *id, const char *stream,
                           const char *data, int size) {
  natsMsg *message = NULL;
  natsStatus s = lib.natsMsg_Create(&message, subject, reply, data, size);
  if (s == NATS_OK && id) s = lib.natsMsgHeader_Set(message, "Nats-Msg-Id", id);
  if (s == NATS_OK && stream) s = lib.natsMsgHeader_Set(message, "Nats-Expected-Stream", stream);
  if (s == NATS_OK) s = lib.natsConnection_PublishMsg(own->connection, message);
  lib.natsMsg_Destroy(message);
  return status_of(s);
}

void cnats_unsubscribe(cnats_connection *own) {
  if (own->inbox) lib.natsSubscription_Unsubscribe(own->inbox);
}

cnats_status cnats_flush(cnats_connection *own, int64_t milliseconds) {
  return status_of(lib.natsConnection_FlushTimeout(own->connection, milliseconds));
}

cnats_status cnats_request(cnats_connection *own, const char *subject, const char *data, int data_size, int64_t milliseconds,
                           char *answer, size_t room, size_t *size) {
  natsMsg *message = NULL, *reply = NULL;
  natsStatus s = lib.natsMsg_Create(&message, subject, NULL, data, data_size);
  if (s == NATS_OK) s = lib.natsConnection_RequestMsg(&reply, own->connection, message, milliseconds);
  if (s == NATS_OK) {
    size_t length = (size_t)lib.natsMsg_GetDataLength(reply);
    *size = length < room ? length : room;
    memcpy(answer, lib.natsMsg_GetData(reply), *size);
  }
  lib.natsMsg_Destroy(reply);
  lib.natsMsg_Destroy(message);
  return status_of(s);
}

int cnats_inbox(char *inbox, size_t room) {
  natsInbox *made = NULL;
  if (lib.natsInbox_Create(&made) != NATS_OK) return 0;
  int length = snprintf(inbox, room, "%s", (const char *)made);
  lib.natsInbox_Destroy(made);
  return length > 0 && (size_t)length < room;
}

#else

/* The headers of the library were missing when this was built. */

int cnats_is_found(void) { return 0; }

int cnats_load(const cnats_calls *calls, char *why, size_t why_size) {
  (void)calls;
  snprintf(why, why_size, "this module was built without libnats; install the Debian package libnats-dev, and build it again");
  return 0;
}

cnats_connection *cnats_connect(const cnats_options *options, const char *inbox, uintptr_t number, cnats_status *status, char *why,
                                size_t why_size) {
  (void)options, (void)inbox, (void)number;
  *status = CNATS_OTHER;
  snprintf(why, why_size, "this module was built without libnats");
  return NULL;
}
void cnats_close(cnats_connection *connection) { (void)connection; }
int cnats_is_open(cnats_connection *connection) { return (void)connection, 0; }
int64_t cnats_most_bytes(cnats_connection *connection) { return (void)connection, 0; }
cnats_status cnats_publish(cnats_connection *connection, const char *subject, const char *reply, const char *id, const char *stream,
                           const char *data, int size) {
  (void)connection, (void)subject, (void)reply, (void)id, (void)stream, (void)data, (void)size;
  return CNATS_OTHER;
}
cnats_status cnats_request(cnats_connection *connection, const char *subject, const char *data, int data_size, int64_t milliseconds,
                           char *answer, size_t room, size_t *size) {
  (void)connection, (void)subject, (void)data, (void)data_size, (void)milliseconds, (void)answer, (void)room, (void)size;
  return CNATS_OTHER;
}
void cnats_unsubscribe(cnats_connection *connection) { (void)connection; }
cnats_status cnats_flush(cnats_connection *connection, int64_t milliseconds) {
  return (void)connection, (void)milliseconds, CNATS_OTHER;
}
int cnats_inbox(char *inbox, size_t room) { return (void)inbox, (void)room, 0; }

#endif
