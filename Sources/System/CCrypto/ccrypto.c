#include "ccrypto.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define NAME "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)

static struct {
  __typeof__(&SHA256_Transform) transform;
  __typeof__(&SHA256) sha256;
  __typeof__(&HMAC) hmac;
  __typeof__(&EVP_sha256) evp_sha256;
  __typeof__(&RAND_bytes) random;
  __typeof__(&EVP_CIPHER_CTX_new) new;
  __typeof__(&EVP_CIPHER_CTX_free) free;
  __typeof__(&EVP_CIPHER_CTX_ctrl) ctrl;
  __typeof__(&EVP_aes_256_gcm) gcm;
  __typeof__(&EVP_CipherInit_ex) init;
  __typeof__(&EVP_CipherUpdate) update;
  __typeof__(&EVP_CipherFinal_ex) final;
  __typeof__(&EVP_PKEY_new_raw_private_key) private_key;
  __typeof__(&EVP_PKEY_new_raw_public_key) public_key;
  __typeof__(&EVP_PKEY_get_raw_public_key) get_public_key;
  __typeof__(&EVP_PKEY_free) free_key;
  __typeof__(&EVP_MD_CTX_new) new_digest;
  __typeof__(&EVP_MD_CTX_free) free_digest;
  __typeof__(&EVP_DigestSignInit) sign_init;
  __typeof__(&EVP_DigestSign) sign;
  __typeof__(&EVP_DigestVerifyInit) verify_init;
  __typeof__(&EVP_DigestVerify) verify;
} lib;

static void *find(void *handle, const char *name) {
  void *found = handle ? dlsym(handle, name) : NULL;
  if (found) return found;
  fprintf(stderr, "switchyard: libcrypto is needed and cannot be loaded: %s; install libssl%s\n", dlerror(), TEXT(OPENSSL_SHLIB_VERSION));
  exit(70);
}

void crypto_stay(void) {
  void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  __typeof__(&OPENSSL_init_crypto) init = handle ? dlsym(handle, "OPENSSL_init_crypto") : NULL;
  if (init) init(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static void load(void) {
  void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
  crypto_stay();
  lib.transform = find(handle, "SHA256_Transform");
  lib.sha256 = find(handle, "SHA256");
  lib.hmac = find(handle, "HMAC");
  lib.evp_sha256 = find(handle, "EVP_sha256");
  lib.random = find(handle, "RAND_bytes");
  lib.new = find(handle, "EVP_CIPHER_CTX_new");
  lib.free = find(handle, "EVP_CIPHER_CTX_free");
  lib.ctrl = find(handle, "EVP_CIPHER_CTX_ctrl");
  lib.gcm = find(handle, "EVP_aes_256_gcm");
  lib.init = find(handle, "EVP_CipherInit_ex");
  lib.update = find(handle, "EVP_CipherUpdate");
  lib.final = find(handle, "EVP_CipherFinal_ex");
  lib.private_key = find(handle, "EVP_PKEY_new_raw_private_key");
  lib.public_key = find(handle, "EVP_PKEY_new_raw_public_key");
  lib.get_public_key = find(handle, "EVP_PKEY_get_raw_public_key");
  lib.free_key = find(handle, "EVP_PKEY_free");
  lib.new_digest = find(handle, "EVP_MD_CTX_new");
  lib.free_digest = find(handle, "EVP_MD_CTX_free");
  lib.sign_init = find(handle, "EVP_DigestSignInit");
  lib.sign = find(handle, "EVP_DigestSign");
  lib.verify_init = find(handle, "EVP_DigestVerifyInit");
  lib.verify = find(handle, "EVP_DigestVerify");
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void ready(void) { pthread_once(&once, load); }

void crypto_sha256_begin(SHA256_CTX *context) {
  /* The initial values are from FIPS 180-4, 5.3.3. The library is loaded here, since hashing always follows. So the block function needs no
     check. */
  ready();
  *context = (SHA256_CTX){
      .h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, .md_len = 32};
}
void crypto_sha256_transform(SHA256_CTX *context, const unsigned char *block) { lib.transform(context, block); }
void crypto_sha256(const unsigned char *text, size_t count, unsigned char *digest) {
  ready();
  lib.sha256(text, count, digest);
}
void crypto_hmac_sha256(const unsigned char *key, int key_count, const unsigned char *text, size_t count, unsigned char *digest) {
  unsigned int size = 32;
  ready();
  lib.hmac(lib.evp_sha256(), key, key_count, text, count, digest, &size);
}
int crypto_random(unsigned char *bytes, int count) {
  ready();
  return lib.random(bytes, count);
}
EVP_CIPHER_CTX *crypto_gcm_new(void) {
  ready();
  return lib.new();
}
void crypto_gcm_free(EVP_CIPHER_CTX *context) { lib.free(context); }
int crypto_gcm_begin(EVP_CIPHER_CTX *context, int seals, const unsigned char *key, const unsigned char *nonce) {
  return lib.init(context, lib.gcm(), NULL, key, nonce, seals);
}
int crypto_gcm_add(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *text, int count) {
  int done = 0;
  return lib.update(context, out, &done, text, count) == 1 && done == count;
}
int crypto_gcm_seal(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count) {
  unsigned char rest[16];
  int done = 0;
  return lib.final(context, rest, &done) == 1 && lib.ctrl(context, EVP_CTRL_GCM_GET_TAG, tag_count, tag) == 1;
}
int crypto_gcm_open(EVP_CIPHER_CTX *context, unsigned char *tag, int tag_count) {
  unsigned char rest[16];
  int done = 0;
  return lib.ctrl(context, EVP_CTRL_GCM_SET_TAG, tag_count, tag) == 1 && lib.final(context, rest, &done) == 1;
}

int crypto_ed25519_public(const unsigned char *seed, unsigned char *public_key) {
  size_t size = 32;
  ready();
  EVP_PKEY *key = lib.private_key(EVP_PKEY_ED25519, NULL, seed, 32);
  int is_good = key && lib.get_public_key(key, public_key, &size) == 1 && size == 32;
  lib.free_key(key);
  return is_good;
}
int crypto_ed25519_sign(const unsigned char *seed, const unsigned char *text, size_t count, unsigned char *signature) {
  size_t size = 64;
  ready();
  EVP_PKEY *key = lib.private_key(EVP_PKEY_ED25519, NULL, seed, 32);
  EVP_MD_CTX *context = lib.new_digest();
  int is_good = key && context && lib.sign_init(context, NULL, NULL, NULL, key) == 1 &&
                lib.sign(context, signature, &size, text, count) == 1 && size == 64;
  lib.free_digest(context);
  lib.free_key(key);
  return is_good;
}
int crypto_ed25519_verify(const unsigned char *public_key, const unsigned char *text, size_t count, const unsigned char *signature) {
  ready();
  EVP_PKEY *key = lib.public_key(EVP_PKEY_ED25519, NULL, public_key, 32);
  EVP_MD_CTX *context = lib.new_digest();
  int is_good = key && context && lib.verify_init(context, NULL, NULL, NULL, key) == 1 &&
                lib.verify(context, signature, 64, text, count) == 1;
  lib.free_digest(context);
  lib.free_key(key);
  return is_good;
}
