/* Looks ahead over a line of JSON: which bytes can end the plain text of a string?
   Each way gives the same answer; the one in words is compiled everywhere, the others where the processor may have them.
   Little-endian only: bit i of a mask stands for byte i. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The offset of the next newline. There must be one. */
size_t csimd_line_length(const uint8_t *line);

/* Sets a bit for each byte of the line and its newline that cannot be skipped inside a string: a quote, a backslash, a
   control or a non-ASCII byte. Writes length / 64 + 1 masks and reads up to 63 bytes behind the newline. */
void csimd_stops_words(const uint8_t *line, size_t length, uint64_t *masks);

#if defined(__x86_64__)
void csimd_stops_sse2(const uint8_t *line, size_t length, uint64_t *masks);
/* Only where csimd_has_avx2 says so. */
void csimd_stops_avx2(const uint8_t *line, size_t length, uint64_t *masks);
bool csimd_has_avx2(void);
/* Only where csimd_has_avx512 says so. */
void csimd_stops_avx512(const uint8_t *line, size_t length, uint64_t *masks);
bool csimd_has_avx512(void);
#endif
