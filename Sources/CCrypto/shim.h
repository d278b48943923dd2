#pragma once
/* The block function of SHA-256 is deprecated but stable, and the only way to hash from a prepared state in one call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
