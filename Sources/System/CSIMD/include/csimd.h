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

/* The bytes at p before the first quote, at most 16, filled with zeros, as two words. `count` is their number. */
struct csimd_key {
  uint64_t low, high;
  uint32_t count;
};

/* csimd_cut_key gives the same for a key whose length is known. 16 bytes at p must be readable. */

/* The bytes of a number, true, false or null at p before the comma, bracket or space that follows, at most 16. `is_marked` is not zero if one
   of them is a point, an e or an E. */
struct csimd_word {
  uint32_t count, is_marked;
};

#if defined(__x86_64__)
#include <emmintrin.h>

static inline struct csimd_key csimd_read_key(const uint8_t *p) {
  static const uint8_t kept[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)p);
  const uint32_t quotes = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8('"')));
  const uint32_t count = (uint32_t)__builtin_ctz(quotes | 0x10000u);
  const __m128i text = _mm_and_si128(all, _mm_loadu_si128((const __m128i *)(const void *)(kept + 16 - count)));
  return (struct csimd_key){
      (uint64_t)_mm_cvtsi128_si64(text), (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(text, text)), count};
}

static inline struct csimd_key csimd_cut_key(const uint8_t *p, uint32_t length) {
  static const uint8_t kept[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  const uint32_t count = length < 16 ? length : 16;
  const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)p);
  const __m128i text = _mm_and_si128(all, _mm_loadu_si128((const __m128i *)(const void *)(kept + 16 - count)));
  return (struct csimd_key){
      (uint64_t)_mm_cvtsi128_si64(text), (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(text, text)), count};
}

static inline struct csimd_word csimd_read_word(const uint8_t *p) {
  const __m128i all = _mm_loadu_si128((const __m128i *)(const void *)p), space = _mm_set1_epi8(0x20), lower = _mm_or_si128(all, space);
  const __m128i brackets = _mm_cmpeq_epi8(lower, _mm_set1_epi8('}')), commas = _mm_cmpeq_epi8(all, _mm_set1_epi8(','));
  const __m128i spaces = _mm_cmpeq_epi8(_mm_max_epu8(all, space), space);
  const __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(all, _mm_set1_epi8('.')), _mm_cmpeq_epi8(lower, _mm_set1_epi8('e')));
  const uint32_t ends = (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(brackets, commas), spaces)) | 0x10000u;
  return (struct csimd_word){(uint32_t)__builtin_ctz(ends), (uint32_t)_mm_movemask_epi8(marks) & (ends ^ (ends - 1))};
}

/* Returns one bit for each of the 32 bytes at p that is a quote or a backslash. Bit i belongs to byte i. */
static inline uint32_t csimd_quotes(const uint8_t *p) {
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p), high = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));
  const __m128i lows = _mm_or_si128(_mm_cmpeq_epi8(low, quote), _mm_cmpeq_epi8(low, backslash));
  const __m128i highs = _mm_or_si128(_mm_cmpeq_epi8(high, quote), _mm_cmpeq_epi8(high, backslash));
  return (uint32_t)_mm_movemask_epi8(lows) | (uint32_t)_mm_movemask_epi8(highs) << 16;
}

/* Returns how many of the 32 bytes at p come before the first one that is not ASCII. */
static inline uint32_t csimd_ascii(const uint8_t *p) {
  const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p), high = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));
  const uint64_t others = (uint32_t)_mm_movemask_epi8(low) | (uint64_t)(uint32_t)_mm_movemask_epi8(high) << 16;
  return (uint32_t)__builtin_ctzll(others | 1ull << 32);
}
#else
static inline struct csimd_key csimd_read_key(const uint8_t *p) {
  struct csimd_key key = {0, 0, 0};
  while (key.count < 16 && p[key.count] != '"') {
    const uint64_t byte = (uint64_t)p[key.count] << (key.count % 8 * 8);
    if (key.count < 8) key.low |= byte; else key.high |= byte;
    key.count++;
  }
  return key;
}

static inline struct csimd_key csimd_cut_key(const uint8_t *p, uint32_t length) {
  struct csimd_key key = {0, 0, 0};
  while (key.count < 16 && key.count < length) {
    const uint64_t byte = (uint64_t)p[key.count] << (key.count % 8 * 8);
    if (key.count < 8) key.low |= byte; else key.high |= byte;
    key.count++;
  }
  return key;
}

static inline struct csimd_word csimd_read_word(const uint8_t *p) {
  struct csimd_word word = {0, 0};
  while (word.count < 16 && p[word.count] > 0x20 && p[word.count] != ',' && (p[word.count] | 0x20) != '}') {
    word.is_marked |= p[word.count] == '.' || (p[word.count] | 0x20) == 'e';
    word.count++;
  }
  return word;
}

static inline uint32_t csimd_quotes(const uint8_t *p) {
  uint32_t mask = 0;
  for (int i = 0; i < 32; i++) mask |= (uint32_t)(p[i] == '"' || p[i] == '\\') << i;
  return mask;
}

static inline uint32_t csimd_ascii(const uint8_t *p) {
  uint32_t count = 0;
  while (count < 32 && p[count] < 0x80) count++;
  return count;
}
#endif
