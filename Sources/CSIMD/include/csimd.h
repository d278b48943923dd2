/* Vector intrinsics that Swift inlines; guarded, so that other processors take the portable path. */
#pragma once
#include <stdint.h>

#if defined(__SSE2__)
#define CSIMD_HAS_SSE2 1
#include <emmintrin.h>

/* Bit i is set when byte i cannot be skipped inside a JSON string: a quote, a backslash, a control or a non-ASCII byte. */
static inline uint32_t csimd_string_stops16(const uint8_t *p) {
  __m128i x = _mm_loadu_si128((const __m128i *)p);
  __m128i m = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
  /* A signed compare catches bytes below 0x20 and from 0x80 in one instruction. */
  m = _mm_or_si128(m, _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)));
  return (uint32_t)_mm_movemask_epi8(m);
}
#endif
