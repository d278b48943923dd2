/* Sends POST requests with libcurl, one after another. The library is loaded when it is first needed: no program links it. */
#pragma once
#include <stddef.h>

/* Loads the library. Returns NULL, or the reason why it cannot be loaded, in words. */
const char *ccurlloaded_load(void);

typedef struct ccurlloaded ccurlloaded;

/* Makes a client for one URL. `headers` holds lines and ends with NULL. `authorities` is a PEM file that replaces the system's authorities,
   or NULL. `timeout` is the number of seconds for which the other side may be silent. Returns NULL if there is no memory. */
ccurlloaded *ccurlloaded_make(const char *url, const char *const *headers, const char *authorities, long timeout);
void ccurlloaded_free(ccurlloaded *client);

typedef struct {
  long status;
  const char *body; /* valid until the next call */
  size_t size;
  const char *location; /* NULL if there is none */
  long retry_after;     /* in seconds; 0 if there is none */
} ccurlloaded_answer;

/* Returns NULL and fills in `answer`. Otherwise returns the reason in words, and sets *can_pass to 1 if another attempt may succeed. */
const char *ccurlloaded_post(ccurlloaded *client, const void *body, size_t size, ccurlloaded_answer *answer, int *can_pass);
