/* XXH64 (Collet): a 64-bit hash that is the same on every machine. It finds damage. It is no protection against an attacker, who can
   make bytes of any hash. It needs no special instructions: 64-bit multiplications in four independent lanes are faster than a disk. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint64_t cchecksum_hash(const void *bytes, size_t count, uint64_t seed);

/* The same value of one word of eight bytes, little-endian. */
uint64_t cchecksum_hash_word(uint64_t word, uint64_t seed);
