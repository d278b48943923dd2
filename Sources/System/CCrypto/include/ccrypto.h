/* The functions of libcrypto that Switchyard uses. The library is loaded at the first call, since its tables alone cost more
   than a megabyte of memory, and a router that hashes and encrypts nothing needs none of it. When it cannot be loaded the
   process ends with a line that says so: to go on without a key that was asked for is not an option. */
#pragma once
/* The block function of SHA-256 is deprecated but stable, and the only way to hash from a prepared state in one call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stddef.h>

/* Whoever uses a library that uses libcrypto calls this first. Otherwise libcrypto takes itself down when the process exits, and threads
   that are still at work, or only end by then, lose what they stand on. Does nothing where libcrypto is not loaded. */
void crypto_stay(void);

/* The values that SHA-256 begins with; needs no library. */
void crypto_sha256_begin(SHA256_CTX *context);
void crypto_sha256_transform(SHA256_CTX *context, const unsigned char *block);
void crypto_sha256(const unsigned char *text, size_t count, unsigned char *digest);
void crypto_hmac_sha256(const unsigned char *key, int key_count, const unsigned char *text, size_t count, unsigned char *digest);
/* 1: the bytes are by chance. */
int crypto_random(unsigned char *bytes, int count);

/* AES-256-GCM, a context for each text. */
EVP_CIPHER_CTX *crypto_gcm_new(void);
void crypto_gcm_free(EVP_CIPHER_CTX *context);
/* Each is 1 when it is done. `out` NULL: the text is only authenticated. */
int crypto_gcm_begin(EVP_CIPHER_CTX *context, int seals, const unsigned char *key, const unsigned char *nonce);
int crypto_gcm_add(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *text, int count);
int crypto_gcm_seal(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count);
int crypto_gcm_open(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count);
