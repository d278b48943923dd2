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

void switchyard_pattern_free(void *pattern);

#ifdef __cplusplus
}
#endif
