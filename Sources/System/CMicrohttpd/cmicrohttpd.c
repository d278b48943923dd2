#define _GNU_SOURCE
#include "cmicrohttpd.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
  __typeof__(&MHD_start_daemon) start;
  __typeof__(&MHD_stop_daemon) stop;
  __typeof__(&MHD_quiesce_daemon) quiesce;
  __typeof__(&MHD_suspend_connection) suspend;
  __typeof__(&MHD_resume_connection) resume;
  __typeof__(&MHD_get_connection_values_n) values;
  __typeof__(&MHD_get_connection_info) info;
  __typeof__(&MHD_create_response_from_buffer) response;
  __typeof__(&MHD_add_response_header) header;
  __typeof__(&MHD_queue_response) queue;
  __typeof__(&MHD_destroy_response) destroy;
  int (*verify_peers)(void *session, unsigned *status);
} mhd;

static const char *fault;
static char fault_text[400];

static void load(void) {
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(fault_text, sizeof fault_text, "listening needs libmicrohttpd, which is not there (%s); install the Debian package libmicrohttpd12",
             dlerror());
    fault = fault_text;
    return;
  }
  struct {
    const char *name;
    void **place;
  } wanted[] = {
      {"MHD_start_daemon", (void **)&mhd.start},
      {"MHD_stop_daemon", (void **)&mhd.stop},
      {"MHD_quiesce_daemon", (void **)&mhd.quiesce},
      {"MHD_suspend_connection", (void **)&mhd.suspend},
      {"MHD_resume_connection", (void **)&mhd.resume},
      {"MHD_get_connection_values_n", (void **)&mhd.values},
      {"MHD_get_connection_info", (void **)&mhd.info},
      {"MHD_create_response_from_buffer", (void **)&mhd.response},
      {"MHD_add_response_header", (void **)&mhd.header},
      {"MHD_queue_response", (void **)&mhd.queue},
      {"MHD_destroy_response", (void **)&mhd.destroy},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    *wanted[i].place = dlsym(library, wanted[i].name);
    if (*wanted[i].place) continue;
    snprintf(fault_text, sizeof fault_text, "the installed libmicrohttpd is too old: it lacks %s; expected 0.9.75 or newer", wanted[i].name);
    fault = fault_text;
    return;
  }
  /* If libmicrohttpd was built with TLS, GnuTLS is already loaded. */
  void *tls = dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (tls) *(void **)&mhd.verify_peers = dlsym(tls, "gnutls_certificate_verify_peers2");
}

const char *cmicrohttpd_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return fault;
}

static void *peer_of(struct MHD_Connection *connection) {
  return mhd.info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void notify_connection(void *context, struct MHD_Connection *connection, void **peer, enum MHD_ConnectionNotificationCode code) {
  const cmicrohttpd_calls *calls = context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED)
    *peer = calls->opened(calls->context, mhd.info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
  else if (*peer)
    calls->closed(calls->context, *peer);
}

static void *note_uri(void *context, const char *uri, struct MHD_Connection *connection) {
  (void)connection;
  const cmicrohttpd_calls *calls = context;
  return calls->named(calls->context, uri);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                              const char *data, size_t *size, void **request) {
  (void)url;
  const cmicrohttpd_calls *calls = context;
  /* The lowest bit of the request is 1 after its head was seen. */
  uintptr_t bits = (uintptr_t)*request;
  void *object = (void *)(bits & ~(uintptr_t)1);
  int is_first = !(bits & 1);
  *request = (void *)(bits | 1);
  size_t count = *size;
  *size = 0;
  return calls->received(calls->context, peer_of(connection), object, connection, is_first, method, version, data, is_first ? 0 : count)
             ? MHD_YES
             : MHD_NO;
}

static void completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code) {
  (void)code;
  const cmicrohttpd_calls *calls = context;
  void *object = (void *)((uintptr_t)*request & ~(uintptr_t)1);
  *request = NULL;
  if (object) calls->ended(calls->context, peer_of(connection), object);
}

/* The library's error message while a daemon starts. Later messages are about clients, and are dropped. */
static __thread char *words;
static __thread size_t words_size;
static void note_words(void *context, const char *format, va_list arguments) {
  (void)context;
  if (words && !*words) vsnprintf(words, words_size, format, arguments);
}

cmicrohttpd_daemon cmicrohttpd_start(const cmicrohttpd_options *options, const cmicrohttpd_calls *calls, char *why, size_t why_size) {
  struct MHD_OptionItem items[16];
  int count = 0;
#define OPTION(name, number, pointer) items[count++] = (struct MHD_OptionItem){name, (intptr_t)(number), (void *)(pointer)}
  OPTION(MHD_OPTION_LISTEN_SOCKET, options->socket, NULL);
  OPTION(MHD_OPTION_CONNECTION_LIMIT, options->connections, NULL);
  if (options->connections_by_address) OPTION(MHD_OPTION_PER_IP_CONNECTION_LIMIT, options->connections_by_address, NULL);
  OPTION(MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->head_bytes, NULL);
  OPTION(MHD_OPTION_CONNECTION_TIMEOUT, 0, NULL);
  OPTION(MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
  OPTION(MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)notify_connection, calls);
  OPTION(MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, calls);
  OPTION(MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)note_uri, calls);
  if (options->certificate) {
    OPTION(MHD_OPTION_HTTPS_MEM_CERT, 0, options->certificate);
    OPTION(MHD_OPTION_HTTPS_MEM_KEY, 0, options->key);
    OPTION(MHD_OPTION_HTTPS_PRIORITIES, 0, options->priorities);
    if (options->clients) OPTION(MHD_OPTION_HTTPS_MEM_TRUST, 0, options->clients);
  }
  OPTION(MHD_OPTION_END, 0, NULL);
#undef OPTION
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  if (options->certificate) flags |= MHD_USE_TLS;
  words = why;
  words_size = why_size;
  if (why_size) *why = 0;
  /* The logger is the first option, so that it receives the errors about the other options. */
  struct MHD_Daemon *daemon = mhd.start(flags, 0, NULL, NULL, handle, (void *)calls, MHD_OPTION_EXTERNAL_LOGGER, note_words, NULL,
                                        MHD_OPTION_ARRAY, items, MHD_OPTION_END);
  words = NULL;
  return daemon;
}

int cmicrohttpd_quiesce(cmicrohttpd_daemon daemon) { return mhd.quiesce(daemon); }
void cmicrohttpd_stop(cmicrohttpd_daemon daemon) { mhd.stop(daemon); }
void cmicrohttpd_suspend(cmicrohttpd_connection connection) { mhd.suspend(connection); }
void cmicrohttpd_resume(cmicrohttpd_connection connection) { mhd.resume(connection); }

typedef struct {
  void *context;
  int (*each)(void *, const char *, size_t, const char *, size_t);
  /* The place at which the next header must begin. NULL after a line that was not read as it was sent. */
  const char *next;
  int has_stopped;
} header_visit;

/* The library has replaced the carriage return and the line feed behind each line with zero bytes. */
static int ends_line(const char *end) { return end[0] == 0 && end[1] == 0; }

static enum MHD_Result visit(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value,
                             size_t value_size) {
  (void)kind;
  header_visit *to = context;
  to->next = name == to->next && value && ends_line(value + value_size) ? value + value_size + 2 : NULL;
  to->has_stopped = !to->each(to->context, name, name_size, value ? value : "", value ? value_size : 0);
  return to->has_stopped ? MHD_NO : MHD_YES;
}

int cmicrohttpd_headers(cmicrohttpd_connection connection, const char *version, void *context,
                        int (*each)(void *, const char *, size_t, const char *, size_t)) {
  const char *end = version + strlen(version);
  header_visit to = {context, each, ends_line(end) ? end + 2 : NULL, 0};
  mhd.values(connection, MHD_HEADER_KIND, visit, &to);
  return to.has_stopped || (to.next && ends_line(to.next));
}

int cmicrohttpd_reply(cmicrohttpd_connection connection, unsigned status, const void *body, size_t size, const char *const *headers,
                      size_t header_count) {
  struct MHD_Response *response = mhd.response(size, (void *)body, MHD_RESPMEM_MUST_COPY);
  if (!response) return 0;
  int is_good = 1;
  for (size_t i = 0; i + 1 < header_count; i += 2) is_good &= mhd.header(response, headers[i], headers[i + 1]) == MHD_YES;
  is_good = is_good && mhd.queue(connection, status, response) == MHD_YES;
  mhd.destroy(response);
  return is_good;
}

int cmicrohttpd_is_trusted(cmicrohttpd_connection connection) {
  const union MHD_ConnectionInfo *info = mhd.info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  unsigned status = ~0u;
  return info && info->tls_session && mhd.verify_peers && mhd.verify_peers(info->tls_session, &status) == 0 && status == 0;
}
