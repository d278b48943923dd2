/* libcurl for Swift, which cannot call variadic functions: one inline function for each argument type. The parentheses around the names
   avoid curl's macros of the same names. */
#pragma once
#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed"
#endif

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return (curl_easy_setopt)(easy, option, value); }
static inline CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) { return (curl_easy_setopt)(easy, option, value); }
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) { return (curl_easy_setopt)(easy, option, value); }
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) { return (curl_easy_setopt)(easy, option, value); }

typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_receive(CURL *easy, CURLoption option, ccurl_receive receive) {
  return (curl_easy_setopt)(easy, option, receive);
}

typedef curl_socket_t (*ccurl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
static inline CURLcode ccurl_set_open(CURL *easy, ccurl_open open) {
  return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, open);
}

typedef int (*ccurl_begin)(void *context, char *, char *, int, int);
static inline CURLcode ccurl_set_begin(CURL *easy, ccurl_begin begin) {
  return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, begin);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) { return (curl_easy_getinfo)(easy, info, value); }
static inline CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value) { return (curl_easy_getinfo)(easy, info, value); }
static inline CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) { return (curl_easy_getinfo)(easy, info, value); }
static inline CURLcode ccurl_get_text(CURL *easy, CURLINFO info, const char **value) { return (curl_easy_getinfo)(easy, info, value); }

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return (curl_multi_setopt)(multi, option, value);
}
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

/* Constants that are macros, which Swift does not import. */
static inline CURLcode ccurl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
static inline const char *ccurl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }
