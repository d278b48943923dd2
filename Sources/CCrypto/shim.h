#pragma once
/* The block function of SHA-256 is deprecated but stable, and the only way to hash from a prepared state in one call. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

/* What OpenSSL has as macros. */
static inline int switchyard_gcm_get_tag(EVP_CIPHER_CTX *context, int size, unsigned char *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, size, tag);
}
static inline int switchyard_gcm_set_tag(EVP_CIPHER_CTX *context, int size, unsigned char *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, size, tag);
}
