#include "csimd.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the scanner reads words as little-endian"
#endif

#define INLINE static inline __attribute__((always_inline))

/* Returns the stop mask of the 64 bytes at p. The compiler vectorizes the first loop. Each multiplication packs eight bytes of 0 or 1 into
   one byte. */
INLINE uint64_t stops_words(const uint8_t *p) {
  uint8_t flags[64];
  for (int i = 0; i < 64; i++) flags[i] = (p[i] == '"') | (p[i] == '\\') | ((uint8_t)(p[i] - 0x20) >= 0x60);
  uint64_t mask = 0;
  for (int i = 0; i < 8; i++) {
    uint64_t word;
    memcpy(&word, flags + 8 * i, 8);
    mask |= ((word * 0x0102040810204080u) >> 56) << (8 * i);
  }
  return mask;
}

size_t csimd_mark_words(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity) {
  const size_t length = (size_t)((const uint8_t *)memchr(p + skipped, '\n', SIZE_MAX) - p);
  if (length / 64 >= capacity) return SIZE_MAX;
  for (size_t i = 0; i <= length / 64; i++) masks[i] = stops_words(p + 64 * i);
  return length;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* A vector version. STOPS returns the stop mask of 64 bytes and sets the mask of their newlines. */
#define MARK(NAME, TARGET, STOPS)                                                              \
  TARGET size_t NAME(const uint8_t *p, size_t skipped, uint64_t *masks, size_t capacity) {     \
    uint64_t newlines;                                                                         \
    masks[0] = STOPS(p, &newlines);                                                            \
    newlines &= ~(uint64_t)0 << skipped;                                                       \
    size_t i = 0;                                                                              \
    while (newlines == 0) {                                                                    \
      if (++i == capacity) return SIZE_MAX;                                                    \
      masks[i] = STOPS(p + 64 * i, &newlines);                                                 \
    }                                                                                          \
    return 64 * i + (size_t)__builtin_ctzll(newlines);                                         \
  }

INLINE uint64_t bits_sse2(__m128i a, __m128i b, __m128i c, __m128i d) {
  return (uint64_t)(uint32_t)_mm_movemask_epi8(a) | (uint64_t)(uint32_t)_mm_movemask_epi8(b) << 16 |
         (uint64_t)(uint32_t)_mm_movemask_epi8(c) << 32 | (uint64_t)(uint32_t)_mm_movemask_epi8(d) << 48;
}
INLINE __m128i stops16_sse2(__m128i x) {
  /* A signed compare catches bytes below 0x20 and from 0x80 in one instruction. */
  return _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))),
                      _mm_cmplt_epi8(x, _mm_set1_epi8(0x20)));
}
INLINE uint64_t stops_sse2(const uint8_t *p, uint64_t *newlines) {
  const __m128i newline = _mm_set1_epi8('\n');
  __m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_loadu_si128((const __m128i *)(p + 16));
  __m128i c = _mm_loadu_si128((const __m128i *)(p + 32)), d = _mm_loadu_si128((const __m128i *)(p + 48));
  __m128i na = _mm_cmpeq_epi8(a, newline), nb = _mm_cmpeq_epi8(b, newline);
  __m128i nc = _mm_cmpeq_epi8(c, newline), nd = _mm_cmpeq_epi8(d, newline);
  *newlines = 0;
  if (_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(na, nb), _mm_or_si128(nc, nd))) != 0) *newlines = bits_sse2(na, nb, nc, nd);
  return bits_sse2(stops16_sse2(a), stops16_sse2(b), stops16_sse2(c), stops16_sse2(d));
}
MARK(csimd_mark_sse2, , stops_sse2)

#define AVX2 __attribute__((target("avx2,bmi")))
AVX2 INLINE uint64_t bits_avx2(__m256i a, __m256i b) {
  return (uint64_t)(uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}
AVX2 INLINE __m256i stops32_avx2(__m256i x) {
  return _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('"')), _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\'))),
                         _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), x));
}
AVX2 INLINE uint64_t stops_avx2(const uint8_t *p, uint64_t *newlines) {
  const __m256i newline = _mm256_set1_epi8('\n');
  __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
  *newlines = bits_avx2(_mm256_cmpeq_epi8(a, newline), _mm256_cmpeq_epi8(b, newline));
  return bits_avx2(stops32_avx2(a), stops32_avx2(b));
}
MARK(csimd_mark_avx2, AVX2, stops_avx2)

bool csimd_has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"); }
#endif
