/* Finds the bytes at which the plain text of a JSON string can end, 64 at a time, for Swift to inline.
   The intrinsics are guarded; the form in words is compiled everywhere and is what other processors use.
   Little-endian only: bit i of a mask stands for byte i. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the scanner reads words as little-endian"
#endif

/* The offset of the next newline. There must be one. */
static inline size_t csimd_newline(const uint8_t *p) {
  return (size_t)((const uint8_t *)memchr(p, '\n', SIZE_MAX) - p);
}

/* Bit i is set when byte i of the 64 at p cannot be skipped inside a JSON string: a quote, a backslash, a control or a
   non-ASCII byte. Eight bytes to a word, in general registers. */
static inline uint64_t csimd_stops64_words(const uint8_t *p) {
  const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
  uint64_t mask = 0;
  for (int word = 0; word < 8; word++) {
    uint64_t x;
    memcpy(&x, p + 8 * word, 8);
    /* Bit 7 of each byte of a sum is a comparison; without that bit in the terms nothing carries into the next byte. */
    uint64_t low = x & ~tops;
    uint64_t plain = ((low ^ ones * '"') + ones * 0x7f) & ((low ^ ones * '\\') + ones * 0x7f) & (low + ones * 0x60) & ~x;
    /* The multiplication gathers the eight top bits into the top byte. */
    mask |= (((~plain & tops) >> 7) * 0x0102040810204080u >> 56) << (8 * word);
  }
  return mask;
}

#if defined(__SSE2__)
#define CSIMD_HAS_SSE2 1
#include <emmintrin.h>

static inline uint64_t csimd_stops16_sse2(const uint8_t *p) {
  __m128i x = _mm_loadu_si128((const __m128i *)p);
  __m128i m = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
  /* A signed compare catches bytes below 0x20 and from 0x80 in one instruction. */
  m = _mm_or_si128(m, _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)));
  return (uint64_t)(uint32_t)_mm_movemask_epi8(m);
}

/* The same mask with SSE2, which every x86-64 has. */
static inline uint64_t csimd_stops64_sse2(const uint8_t *p) {
  return csimd_stops16_sse2(p) | csimd_stops16_sse2(p + 16) << 16 | csimd_stops16_sse2(p + 32) << 32 |
         csimd_stops16_sse2(p + 48) << 48;
}
#endif
