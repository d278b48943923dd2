/* Scans a line of JSON ahead of the parser and marks the bytes that can end the plain text of a string. All versions give the same result.
   The version with words is compiled everywhere, the others only for processors that may support them. It is for little-endian machines
   only: bit i of a mask belongs to byte i. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each function marks the line that begins `skipped` (below 64) bytes after `p`. It sets one bit for every byte, from p up to the newline
   of the line, that a string scan cannot skip: a quote, a backslash, a control byte or a non-ASCII byte. Returns the offset of that newline
   from p, or SIZE_MAX if the line needs more masks than `capacity`. The newline must exist. Reads up to 63 bytes after the newline. */
size_t csimd_mark_words(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);

#if defined(__x86_64__)
size_t csimd_mark_sse2(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);
/* May be called only if csimd_has_avx2 returns true. */
size_t csimd_mark_avx2(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);
bool csimd_has_avx2(void);
#endif
