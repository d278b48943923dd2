/* The functions of libcrypto that Switchyard uses. The library is loaded at the first call, since its tables alone take more than a
   megabyte of memory. A router that neither hashes nor encrypts does not need it. If the library cannot be loaded, the process ends with a
   line that says so. A router that must hash or encrypt cannot continue without it. */
#pragma once
/* The block function of SHA-256 is deprecated but stable. It is the only way to hash from a prepared state in one call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stddef.h>

/* Call this before using a library that uses libcrypto. Otherwise libcrypto frees its state when the process exits, while other threads may
   still use it. Does nothing if libcrypto is not loaded. */
void crypto_stay(void);

/* Sets the initial values of SHA-256, and loads the library for the calls that follow. */
void crypto_sha256_begin(SHA256_CTX *context);
void crypto_sha256_transform(SHA256_CTX *context, const unsigned char *block);
void crypto_sha256(const unsigned char *text, size_t count, unsigned char *digest);
void crypto_hmac_sha256(const unsigned char *key, int key_count, const unsigned char *text, size_t count, unsigned char *digest);
/* Fills `bytes` with random bytes. Returns 1 on success. */
int crypto_random(unsigned char *bytes, int count);

/* AES-256-GCM, with one context for each text. */
EVP_CIPHER_CTX *crypto_gcm_new(void);
void crypto_gcm_free(EVP_CIPHER_CTX *context);
/* Each function returns 1 on success. If `out` is NULL, the text is only authenticated. */
int crypto_gcm_begin(EVP_CIPHER_CTX *context, int seals, const unsigned char *key, const unsigned char *nonce);
int crypto_gcm_add(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *text, int count);
int crypto_gcm_seal(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count);
int crypto_gcm_open(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count);

/* Ed25519 (RFC 8032). A seed and a public key have 32 bytes, and a signature has 64. Each function returns 1 on success; a signature that
   does not fit is no success. */
int crypto_ed25519_public(const unsigned char *seed, unsigned char *public_key);
int crypto_ed25519_sign(const unsigned char *seed, const unsigned char *text, size_t count, unsigned char *signature);
int crypto_ed25519_verify(const unsigned char *public_key, const unsigned char *text, size_t count, const unsigned char *signature);
