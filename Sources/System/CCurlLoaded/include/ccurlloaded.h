/* One POST after another by libcurl, which is looked up when it is first needed: no program links it. */
#pragma once
#include <stddef.h>

/* Loads the library; NULL, or why that cannot be, in words. */
const char *ccurlloaded_load(void);

typedef struct ccurlloaded ccurlloaded;

/* A client for one URL. headers: lines, the last one NULL; authorities: a file in PEM instead of the system's, or NULL;
   patience: how many seconds the other side may be silent. NULL: no memory. */
ccurlloaded *ccurlloaded_make(const char *url, const char *const *headers, const char *authorities, long patience);
void ccurlloaded_free(ccurlloaded *client);

typedef struct {
  long status;
  const char *body; /* valid until the next call */
  size_t size;
  const char *location; /* NULL: none */
  long retry_after;     /* 0: not said */
} ccurlloaded_answer;

/* NULL and the answer; or why there is none, in words, and in *can_pass whether trying again could help. */
const char *ccurlloaded_post(ccurlloaded *client, const void *body, size_t size, ccurlloaded_answer *answer, int *can_pass);
