#include "ccurlloaded.h"

#include <ccurl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *fault;
static char fault_text[400];

static void load(void) {
  if (!ccurl_load(fault_text, sizeof fault_text)) fault = fault_text;
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
  client->easy = ccurl_easy_init();
  for (; client->easy && *headers; headers++) {
    struct curl_slist *longer = ccurl_slist_append(client->headers, *headers);
    if (!longer) break;
    client->headers = longer;
  }
  if (!client->easy || *headers) {
    ccurlloaded_free(client);
    return NULL;
  }
  CURL *easy = client->easy;
  ccurl_set_text(easy, CURLOPT_URL, url);
  ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "https");
  ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, client->headers);
  ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1L);
  /* Ignore proxies from the environment, so that no proxy sees the key. */
  ccurl_set_text(easy, CURLOPT_PROXY, "");
  ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT, timeout);
  ccurl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ccurl_set_long(easy, CURLOPT_LOW_SPEED_TIME, timeout);
  ccurl_set_long(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  ccurl_set_receive(easy, CURLOPT_WRITEFUNCTION, receive);
  ccurl_set_pointer(easy, CURLOPT_WRITEDATA, client);
  ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, client->words);
  if (authorities) ccurl_set_text(easy, CURLOPT_CAINFO, authorities);
  return client;
}

void ccurlloaded_free(ccurlloaded *client) {
  if (!client) return;
  if (client->easy) ccurl_easy_cleanup(client->easy);
  ccurl_slist_free_all(client->headers);
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
  ccurl_set_long(client->easy, CURLOPT_POST, 1L);
  ccurl_set_size(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
  ccurl_set_pointer(client->easy, CURLOPT_POSTFIELDS, body);
  CURLcode code = ccurl_easy_perform(client->easy);
  if (code != CURLE_OK) {
    *can_pass = !is_final(code);
    return client->words[0] ? client->words : ccurl_easy_strerror(code);
  }
  curl_off_t retry_after = 0, sent = 0;
  const char *location = NULL;
  ccurl_get_long(client->easy, CURLINFO_RESPONSE_CODE, &answer->status);
  ccurl_get_size(client->easy, CURLINFO_RETRY_AFTER, &retry_after);
  ccurl_get_text(client->easy, CURLINFO_REDIRECT_URL, &location);
  ccurl_get_size(client->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
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
