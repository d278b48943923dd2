/* Regular expressions of RE2 as C functions. They are built as a separate library, which is loaded when an expression first needs it. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles a pattern in RE2's syntax. Returns NULL if the pattern is invalid or too large, and writes the reason into `message`. */
void *switchyard_pattern_compile(const void *pattern, size_t count, char *message, size_t capacity);

/* Returns 1 if the pattern matches somewhere in the text. Several threads may call it at once. */
int switchyard_pattern_matches(void *pattern, const void *text, size_t count);

/* Returns the number of instructions of the compiled pattern: of its program to read forwards or backwards, whichever is larger. A search
   takes at most about this many operations for each byte that it reads. */
int switchyard_pattern_size(void *pattern);

/* Returns the number of capturing groups of the pattern. */
int switchyard_pattern_groups(void *pattern);

/* Returns 1 if the pattern matches in the text at or after `from`. Then `spans` holds the begin and end of the leftmost match and of each
   of its first groups, `count_of_spans` pairs in total. The values are -1 for a group that did not take part. Several threads may call it
   at once. */
int switchyard_pattern_find(void *pattern, const void *text, size_t count, size_t from, ptrdiff_t *spans, int count_of_spans);

void switchyard_pattern_free(void *pattern);

#ifdef __cplusplus
}
#endif
