/* Looks ahead over a line of JSON: which bytes can end the plain text of a string?
   Each way gives the same answer; the one in words is compiled everywhere, the others where the processor may have them.
   Little-endian only: bit i of a mask stands for byte i. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each marks the line that begins `skipped` (below 64) bytes behind `p`: a bit for every byte from p up to the line's newline
   that cannot be skipped inside a string: a quote, a backslash, a control or a non-ASCII byte. Returns the offset of that
   newline from p, which must be there; or SIZE_MAX when the line needs more masks than `capacity`. Reads up to 63 bytes
   behind the newline. */
size_t csimd_mark_words(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);

#if defined(__x86_64__)
size_t csimd_mark_sse2(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);
/* Only where csimd_has_avx2 says so. */
size_t csimd_mark_avx2(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity);
bool csimd_has_avx2(void);
#endif
