/* XXH64 (Collet): a 64-bit hash with the same result on every machine. It detects accidental damage. It does not protect against an
   attacker, who can construct bytes with any hash. It needs no special instructions: its 64-bit multiplications in four independent lanes
   are faster than a disk. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint64_t cchecksum_hash(const void *bytes, size_t count, uint64_t seed);

/* Returns the same hash for one word of eight bytes, read as little-endian. */
uint64_t cchecksum_hash_word(uint64_t word, uint64_t seed);
