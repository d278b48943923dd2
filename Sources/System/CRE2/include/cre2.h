/* Regular expressions by RE2, as plain functions, for a library of their own that is loaded when an expression needs one. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pattern in RE2's syntax; NULL when it is none or too large, with why in `message`. */
void *switchyard_pattern_compile(const void *pattern, size_t count, char *message, size_t capacity);

/* 1 when the pattern matches somewhere in the text. From any number of threads at once. */
int switchyard_pattern_matches(void *pattern, const void *text, size_t count);

/* How many groups of the pattern are captured. */
int switchyard_pattern_groups(void *pattern);

/* 1 when the pattern matches in the text at or behind `from`: then `spans` holds where the leftmost match begins and ends, and
   the same for each of its first groups, `count_of_spans` pairs in all; -1 for a group that took no part. From any number of
   threads at once. */
int switchyard_pattern_find(void *pattern, const void *text, size_t count, size_t from, ptrdiff_t *spans, int count_of_spans);

void switchyard_pattern_free(void *pattern);

#ifdef __cplusplus
}
#endif
