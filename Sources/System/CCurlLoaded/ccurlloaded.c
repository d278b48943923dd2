#define _GNU_SOURCE
#include "ccurlloaded.h"

#include <ccrypto.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  __typeof__(&curl_global_init) init;
  __typeof__(&curl_easy_init) easy;
  __typeof__(&curl_easy_cleanup) cleanup;
  CURLcode (*set)(CURL *, CURLoption, ...);
  CURLcode (*get)(CURL *, CURLINFO, ...);
  __typeof__(&curl_easy_perform) perform;
  __typeof__(&curl_easy_strerror) words;
  __typeof__(&curl_slist_append) append;
  __typeof__(&curl_slist_free_all) free_all;
} curl;

static const char *fault;
static char fault_text[400];

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(fault_text, sizeof fault_text, "https:// needs libcurl, which is not there (%s); install the Debian package libcurl4", dlerror());
    fault = fault_text;
    return;
  }
  struct {
    const char *name;
    void **place;
  } wanted[] = {
      {"curl_global_init", (void **)&curl.init},       {"curl_easy_init", (void **)&curl.easy},
      {"curl_easy_cleanup", (void **)&curl.cleanup},   {"curl_easy_setopt", (void **)&curl.set},
      {"curl_easy_getinfo", (void **)&curl.get},       {"curl_easy_perform", (void **)&curl.perform},
      {"curl_easy_strerror", (void **)&curl.words},    {"curl_slist_append", (void **)&curl.append},
      {"curl_slist_free_all", (void **)&curl.free_all},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    *wanted[i].place = dlsym(library, wanted[i].name);
    if (*wanted[i].place) continue;
    snprintf(fault_text, sizeof fault_text, "the installed libcurl lacks %s", wanted[i].name);
    fault = fault_text;
    return;
  }
  crypto_stay();
  if (curl.init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fault = "libcurl cannot be used: its start failed";
}

const char *ccurlloaded_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return fault;
}

enum { most_answer = 64 << 20 };

struct ccurlloaded {
  CURL *easy;
  struct curl_slist *headers;
  char *body;
  size_t size, room;
  char words[CURL_ERROR_SIZE];
};

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
  ccurlloaded *client = context;
  size *= count;
  if (client->size + size > most_answer) return 0;
  if (client->size + size > client->room) {
    size_t room = 2 * (client->size + size);
    char *larger = realloc(client->body, room);
    if (!larger) return 0;
    client->body = larger;
    client->room = room;
  }
  memcpy(client->body + client->size, bytes, size);
  client->size += size;
  return size;
}

ccurlloaded *ccurlloaded_make(const char *url, const char *const *headers, const char *authorities, long timeout) {
  ccurlloaded *client = calloc(1, sizeof *client);
  if (!client) return NULL;
  client->easy = curl.easy();
  for (; client->easy && *headers; headers++) {
    struct curl_slist *longer = curl.append(client->headers, *headers);
    if (!longer) break;
    client->headers = longer;
  }
  if (!client->easy || *headers) {
    ccurlloaded_free(client);
    return NULL;
  }
  CURL *easy = client->easy;
  curl.set(easy, CURLOPT_URL, url);
  curl.set(easy, CURLOPT_PROTOCOLS_STR, "https");
  curl.set(easy, CURLOPT_HTTPHEADER, client->headers);
  curl.set(easy, CURLOPT_NOSIGNAL, 1L);
  /* Ignore proxies from the environment, so that no proxy sees the key. */
  curl.set(easy, CURLOPT_PROXY, "");
  curl.set(easy, CURLOPT_CONNECTTIMEOUT, timeout);
  curl.set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.set(easy, CURLOPT_LOW_SPEED_TIME, timeout);
  curl.set(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  curl.set(easy, CURLOPT_WRITEFUNCTION, receive);
  curl.set(easy, CURLOPT_WRITEDATA, client);
  curl.set(easy, CURLOPT_ERRORBUFFER, client->words);
  if (authorities) curl.set(easy, CURLOPT_CAINFO, authorities);
  return client;
}

void ccurlloaded_free(ccurlloaded *client) {
  if (!client) return;
  if (client->easy) curl.cleanup(client->easy);
  curl.free_all(client->headers);
  free(client->body);
  free(client);
}

/* Returns true if another attempt would fail in the same way. */
static int is_final(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_URL_MALFORMAT ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_SSL_CIPHER || code == CURLE_OUT_OF_MEMORY;
}

const char *ccurlloaded_post(ccurlloaded *client, const void *body, size_t size, ccurlloaded_answer *answer, int *can_pass) {
  client->size = 0;
  client->words[0] = 0;
  curl.set(client->easy, CURLOPT_POST, 1L);
  curl.set(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
  curl.set(client->easy, CURLOPT_POSTFIELDS, body);
  CURLcode code = curl.perform(client->easy);
  if (code != CURLE_OK) {
    *can_pass = !is_final(code);
    return client->words[0] ? client->words : curl.words(code);
  }
  curl_off_t retry_after = 0, sent = 0;
  char *location = NULL;
  curl.get(client->easy, CURLINFO_RESPONSE_CODE, &answer->status);
  curl.get(client->easy, CURLINFO_RETRY_AFTER, &retry_after);
  curl.get(client->easy, CURLINFO_REDIRECT_URL, &location);
  curl.get(client->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  if (answer->status >= 200 && answer->status < 300 && sent < (curl_off_t)size) {
    /* A server that reports success without having the whole body is not trusted. */
    *can_pass = 1;
    return "answered before it was sent the whole batch";
  }
  answer->retry_after = retry_after > 1000000 ? 1000000 : (long)retry_after;
  answer->location = location;
  answer->body = client->body;
  answer->size = client->size;
  return NULL;
}
