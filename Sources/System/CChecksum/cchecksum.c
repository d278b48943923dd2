#include "cchecksum.h"

#include <string.h>

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static inline uint64_t rotated(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static inline uint64_t word_at(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static inline uint32_t half_at(const uint8_t *p) {
  uint32_t half;
  memcpy(&half, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  half = __builtin_bswap32(half);
#endif
  return half;
}

static inline uint64_t mixed(uint64_t lane, uint64_t word) { return rotated(lane + word * P2, 31) * P1; }

static inline uint64_t joined(uint64_t hash, uint64_t lane) { return (hash ^ mixed(0, lane)) * P1 + P4; }

static inline uint64_t with_word(uint64_t hash, uint64_t word) { return rotated(hash ^ mixed(0, word), 27) * P1 + P4; }

static inline uint64_t finished(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= P2;
  hash ^= hash >> 29;
  hash *= P3;
  return hash ^ hash >> 32;
}

uint64_t cchecksum_hash(const void *bytes, size_t count, uint64_t seed) {
  const uint8_t *p = bytes;
  size_t left = count;
  uint64_t hash;
  if (left >= 32) {
    uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
    do {
      a = mixed(a, word_at(p));
      b = mixed(b, word_at(p + 8));
      c = mixed(c, word_at(p + 16));
      d = mixed(d, word_at(p + 24));
      p += 32;
      left -= 32;
    } while (left >= 32);
    hash = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
    hash = joined(joined(joined(joined(hash, a), b), c), d);
  } else {
    hash = seed + P5;
  }
  hash += count;
  for (; left >= 8; p += 8, left -= 8) hash = with_word(hash, word_at(p));
  if (left >= 4) {
    hash = rotated(hash ^ half_at(p) * P1, 23) * P2 + P3;
    p += 4;
    left -= 4;
  }
  for (; left > 0; p++, left--) hash = rotated(hash ^ *p * P5, 11) * P1;
  return finished(hash);
}

uint64_t cchecksum_hash_word(uint64_t word, uint64_t seed) { return finished(with_word(seed + P5 + 8, word)); }
