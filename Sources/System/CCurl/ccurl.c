#define _GNU_SOURCE
#include "ccurl.h"

#include <ccrypto.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The macros of these names check types, and would take the place of the names. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define FUNCTIONS(X)                                                                                                                       \
  X(curl_version_info) X(curl_global_init) X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_perform) X(curl_easy_strerror)              \
  X(curl_easy_option_by_id) X(curl_easy_setopt) X(curl_easy_getinfo) X(curl_multi_init) X(curl_multi_cleanup) X(curl_multi_setopt)        \
  X(curl_multi_add_handle) X(curl_multi_remove_handle) X(curl_multi_perform) X(curl_multi_poll) X(curl_multi_wakeup)                      \
  X(curl_multi_info_read) X(curl_slist_append) X(curl_slist_free_all) X(curl_url) X(curl_url_cleanup) X(curl_url_set) X(curl_url_get)     \
  X(curl_free)

static struct {
#define DECLARE(name) __typeof__(&name) name;
  FUNCTIONS(DECLARE)
#undef DECLARE
} lib;

/* The library with either of the two TLS libraries. Both have the same functions. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
enum { name_count = sizeof names / sizeof *names };

static const unsigned int oldest = 0x075700;

/* --- Finding */

static int is_in(const char *folder) {
  char path[4096];
  for (int i = 0; i < name_count; i++) {
    int size = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (size > 0 && (size_t)size < sizeof path && access(path, R_OK) == 0) return 1;
  }
  return 0;
}

/* Returns the folders in which the linker looks for what the program needs, or NULL. The caller frees them. */
static Dl_serinfo *linker_folders(void) {
  void *program = dlopen(NULL, RTLD_LAZY);
  Dl_serinfo size, *folders = NULL;
  if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && (folders = malloc(size.dls_size))) {
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, folders) != 0 || dlinfo(program, RTLD_DI_SERINFO, folders) != 0) {
      free(folders);
      folders = NULL;
    }
  }
  if (program) dlclose(program);
  return folders;
}

int ccurl_is_found(void) {
  Dl_serinfo *folders = linker_folders();
  int is_found = 0;
  for (unsigned int i = 0; folders && !is_found && i < folders->dls_cnt; i++) is_found = is_in(folders->dls_serpath[i].dls_name);
  free(folders);
  return is_found;
}

/* --- Loading */

static int prepare(void *library, char *why, size_t why_size) {
  lib.curl_version_info = (__typeof__(&curl_version_info))dlsym(library, "curl_version_info");
  const curl_version_info_data *version = lib.curl_version_info ? lib.curl_version_info(CURLVERSION_NOW) : NULL;
  if (!version || version->version_num < oldest) {
    snprintf(why, why_size, "libcurl %s is too old, 7.87 or newer is needed; upgrade the Debian package libcurl4",
             version ? version->version : "without a version");
    return 0;
  }
#define FIND(name)                                                                                                                         \
  if (!(*(void **)&lib.name = dlsym(library, #name))) {                                                                                   \
    snprintf(why, why_size, "libcurl %s lacks " #name "; install the Debian package libcurl4 again", version->version);                  \
    return 0;                                                                                                                              \
  }
  FUNCTIONS(FIND)
#undef FIND
  crypto_stay();
  /* Several modules may do this at once. Since 7.84 it is safe on several threads. It is never undone, since other modules may use the
     library too. */
  if (lib.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return 1;
  snprintf(why, why_size, "libcurl %s cannot be used: its start failed", version->version);
  return 0;
}

static int load(char *why, size_t why_size) {
  char reason[300] = "";
  for (int i = 0; i < name_count; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library) {
      if (prepare(library, why, why_size)) return 1;
      /* What a later call loads may be another file of that name. */
      dlclose(library);
      return 0;
    }
    const char *words = dlerror();
    if (!*reason) snprintf(reason, sizeof reason, "%s", words ? words : names[i]);
  }
  snprintf(why, why_size, "libcurl cannot be loaded (%s); install the Debian package libcurl4", reason);
  return 0;
}

int ccurl_load(char *why, size_t why_size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int is_loaded;
  pthread_mutex_lock(&lock);
  if (!is_loaded) is_loaded = load(why, why_size);
  int result = is_loaded;
  pthread_mutex_unlock(&lock);
  return result;
}

/* --- Calling */

CURL *ccurl_easy_init(void) { return lib.curl_easy_init(); }
void ccurl_easy_cleanup(CURL *easy) { lib.curl_easy_cleanup(easy); }
CURLcode ccurl_easy_perform(CURL *easy) { return lib.curl_easy_perform(easy); }
const char *ccurl_easy_strerror(CURLcode code) { return lib.curl_easy_strerror(code); }
const char *ccurl_option_name(CURLoption option) {
  const struct curl_easyoption *found = lib.curl_easy_option_by_id(option);
  return found ? found->name : "?";
}
const char *ccurl_version(void) { return lib.curl_version_info(CURLVERSION_NOW)->version; }

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return lib.curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) { return lib.curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) { return lib.curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) { return lib.curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_receive(CURL *easy, CURLoption option, ccurl_receive receive) { return lib.curl_easy_setopt(easy, option, receive); }
CURLcode ccurl_set_open(CURL *easy, ccurl_open open) { return lib.curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open); }
CURLcode ccurl_set_begin(CURL *easy, ccurl_begin begin) { return lib.curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, begin); }

CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) { return lib.curl_easy_getinfo(easy, info, value); }
CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value) { return lib.curl_easy_getinfo(easy, info, value); }
CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) { return lib.curl_easy_getinfo(easy, info, value); }
CURLcode ccurl_get_text(CURL *easy, CURLINFO info, const char **value) { return lib.curl_easy_getinfo(easy, info, value); }

CURLM *ccurl_multi_init(void) { return lib.curl_multi_init(); }
CURLMcode ccurl_multi_cleanup(CURLM *multi) { return lib.curl_multi_cleanup(multi); }
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) { return lib.curl_multi_setopt(multi, option, value); }
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *easy) { return lib.curl_multi_add_handle(multi, easy); }
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *easy) { return lib.curl_multi_remove_handle(multi, easy); }
CURLMcode ccurl_multi_perform(CURLM *multi, int *running) { return lib.curl_multi_perform(multi, running); }
CURLMcode ccurl_multi_poll(CURLM *multi, int milliseconds) { return lib.curl_multi_poll(multi, NULL, 0, milliseconds, NULL); }
CURLMcode ccurl_multi_wakeup(CURLM *multi) { return lib.curl_multi_wakeup(multi); }
CURLMsg *ccurl_multi_info_read(CURLM *multi) {
  int left;
  return lib.curl_multi_info_read(multi, &left);
}

struct curl_slist *ccurl_slist_append(struct curl_slist *list, const char *line) { return lib.curl_slist_append(list, line); }
void ccurl_slist_free_all(struct curl_slist *list) { lib.curl_slist_free_all(list); }

CURLU *ccurl_url(void) { return lib.curl_url(); }
void ccurl_url_cleanup(CURLU *url) { lib.curl_url_cleanup(url); }
CURLUcode ccurl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned int flags) {
  return lib.curl_url_set(url, part, text, flags);
}
CURLUcode ccurl_url_get(CURLU *url, CURLUPart part, char **text, unsigned int flags) {
  return lib.curl_url_get(url, part, text, flags);
}
void ccurl_free(void *memory) { lib.curl_free(memory); }
