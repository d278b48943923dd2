/* A C interface to simdjson's DOM parser, which gives the second verdict on every line. The on-demand mode of simdjson is not used,
   because it accepts invalid JSON in the parts that it skips. */
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
  ORACLE_BAD_STRING,   /* a string that simdjson rejects: also a lone surrogate, which is valid JSON */
  ORACLE_BAD_NUMBER,   /* a number that simdjson rejects: also a huge one, which is valid JSON */
  ORACLE_TOO_DEEP,
  ORACLE_INVALID
} oracle_verdict;

oracle *oracle_new(void);
void oracle_free(oracle *oracle);

/* Judges the text. 64 writable bytes must follow it. */
oracle_verdict oracle_judge(oracle *oracle, const uint8_t *text, size_t count);
/* Returns simdjson's message for the last verdict. */
const char *oracle_words(const oracle *oracle);

#ifdef __cplusplus
}
#endif
