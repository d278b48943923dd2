#include "csimd.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the scanner reads words as little-endian"
#endif

size_t csimd_line_length(const uint8_t *line) { return (size_t)((const uint8_t *)memchr(line, '\n', SIZE_MAX) - line); }

/* A form for each kind of processor: MASK64 gives the stops of 64 bytes. */
#define STOPS(NAME, TARGET, MASK64)                                                \
  TARGET void NAME(const uint8_t *line, size_t length, uint64_t *masks) {          \
    for (size_t i = 0; i <= length / 64; i++) masks[i] = MASK64(line + 64 * i);    \
  }
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t mask64_words(const uint8_t *p) {
  const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
  uint64_t mask = 0;
  for (int word = 0; word < 8; word++) {
    uint64_t x;
    memcpy(&x, p + 8 * word, 8);
    /* Bit 7 of each byte of a sum is a comparison; without that bit in the terms nothing carries into the next byte. */
    uint64_t low = x & ~tops;
    uint64_t plain = ((low ^ ones * '"') + ones * 0x7f) & ((low ^ ones * '\\') + ones * 0x7f) & (low + ones * 0x60) & ~x;
    /* The multiplication gathers the eight top bits into the top byte. */
    mask |= ((((~plain & tops) >> 7) * 0x0102040810204080u) >> 56) << (8 * word);
  }
  return mask;
}
STOPS(csimd_stops_words, , mask64_words)

#if defined(__x86_64__)
#include <immintrin.h>

INLINE uint64_t mask16_sse2(const uint8_t *p) {
  __m128i x = _mm_loadu_si128((const __m128i *)p);
  __m128i m = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
  /* A signed compare catches bytes below 0x20 and from 0x80 in one instruction. */
  m = _mm_or_si128(m, _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)));
  return (uint64_t)(uint32_t)_mm_movemask_epi8(m);
}
INLINE uint64_t mask64_sse2(const uint8_t *p) {
  return mask16_sse2(p) | mask16_sse2(p + 16) << 16 | mask16_sse2(p + 32) << 32 | mask16_sse2(p + 48) << 48;
}
STOPS(csimd_stops_sse2, , mask64_sse2)

#define AVX2 __attribute__((target("avx2")))
AVX2 INLINE uint64_t mask32_avx2(const uint8_t *p) {
  __m256i x = _mm256_loadu_si256((const __m256i *)p);
  __m256i m = _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('"')), _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\')));
  m = _mm256_or_si256(m, _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), x));
  return (uint64_t)(uint32_t)_mm256_movemask_epi8(m);
}
AVX2 INLINE uint64_t mask64_avx2(const uint8_t *p) { return mask32_avx2(p) | mask32_avx2(p + 32) << 32; }
STOPS(csimd_stops_avx2, AVX2, mask64_avx2)

bool csimd_has_avx2(void) { return __builtin_cpu_supports("avx2"); }

#define AVX512 __attribute__((target("avx512f,avx512bw")))
AVX512 INLINE uint64_t mask64_avx512(const uint8_t *p) {
  __m512i x = _mm512_loadu_si512(p);
  return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"')) | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\\')) |
         _mm512_cmplt_epi8_mask(x, _mm512_set1_epi8(0x20));
}
STOPS(csimd_stops_avx512, AVX512, mask64_avx512)

bool csimd_has_avx512(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }
#endif
