/* simdjson's DOM behind C: the other opinion on every line. Its on-demand mode accepts invalid JSON in what it skips, so
   it is no oracle. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct oracle oracle;

typedef enum {
  ORACLE_OBJECT,       /* valid, and an object */
  ORACLE_OTHER_VALUE,  /* valid, and something else */
  ORACLE_BAD_STRING,   /* a string it cannot hold: also a lone surrogate, which is valid JSON */
  ORACLE_BAD_NUMBER,   /* a number it cannot hold: also a huge one, which is valid JSON */
  ORACLE_TOO_DEEP,
  ORACLE_INVALID
} oracle_verdict;

oracle *oracle_new(void);
void oracle_free(oracle *oracle);

/* Judges the text, which has 64 writable bytes behind it. */
oracle_verdict oracle_judge(oracle *oracle, const uint8_t *text, size_t count);
/* simdjson's words for the last verdict. */
const char *oracle_words(const oracle *oracle);

#ifdef __cplusplus
}
#endif
