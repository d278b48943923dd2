/* The functions of libcurl that Switchyard uses. The library is loaded when a client first sends, since it brings some twenty-five others
   with it, which take megabytes of memory and milliseconds of the start. No program and no module links it.

   Swift cannot call variadic functions, so there is one function for each type of an argument. Apart from ccurl_is_found and ccurl_load, no
   function may be called before ccurl_load has returned 1. */
#pragma once
#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed"
#endif

/* Returns 1 if there is a file with the name of the library in a folder in which the dynamic linker looks. The file is not opened. If it
   returns 0, only ccurl_load can tell whether the library is there. */
int ccurl_is_found(void);

/* Loads the library and prepares it, once in the process. Returns 1 if it can be used. Otherwise returns 0 and writes the reason and the
   remedy into `why`; a later call tries again. Any thread may call it. */
int ccurl_load(char *why, size_t why_size);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
CURLcode ccurl_easy_perform(CURL *easy);
const char *ccurl_easy_strerror(CURLcode code);
/* Returns the name of an option, or "?" if the library does not know it. */
const char *ccurl_option_name(CURLoption option);
const char *ccurl_version(void);

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value);

typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);
CURLcode ccurl_set_receive(CURL *easy, CURLoption option, ccurl_receive receive);
typedef curl_socket_t (*ccurl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
CURLcode ccurl_set_open(CURL *easy, ccurl_open open);
typedef int (*ccurl_begin)(void *context, char *, char *, int, int);
CURLcode ccurl_set_begin(CURL *easy, ccurl_begin begin);

CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value);
CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value);
CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value);
CURLcode ccurl_get_text(CURL *easy, CURLINFO info, const char **value);

CURLM *ccurl_multi_init(void);
CURLMcode ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_perform(CURLM *multi, int *running);
CURLMcode ccurl_multi_poll(CURLM *multi, int milliseconds);
CURLMcode ccurl_multi_wakeup(CURLM *multi);
CURLMsg *ccurl_multi_info_read(CURLM *multi);
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

struct curl_slist *ccurl_slist_append(struct curl_slist *list, const char *line);
void ccurl_slist_free_all(struct curl_slist *list);

CURLU *ccurl_url(void);
void ccurl_url_cleanup(CURLU *url);
CURLUcode ccurl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags);
CURLUcode ccurl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags);
void ccurl_free(void *memory);
