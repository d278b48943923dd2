#define _GNU_SOURCE
#include "cexit.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic(cexit_judge) the_judge;
/* The guarded process. A forked child may exit freely. */
static _Atomic pid_t guarded;
/* The thread that ends the process, or 0 if there is none. `end_code` is its exit code. */
static _Atomic pid_t ending;
static int end_code;
static _Thread_local uint64_t doing;

static int is_guarded(void) { return atomic_load(&the_judge) && atomic_load(&guarded) == getpid(); }

_Noreturn void cexit_park(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  for (;;) pause();
}

/* Returns true if the address is in the executable, or in the library that contains this code. */
static int is_own(const void *address) {
  Dl_info own, info;
  return address && dladdr(address, &info) && dladdr((const void *)&the_judge, &own) && info.dli_fbase == own.dli_fbase;
}

static void ask(int code, const void *caller) {
  if (!is_guarded() || is_own(caller)) return;
  pid_t ender = atomic_load(&ending);
  /* This is a handler or destructor that calls exit while the process ends. */
  if (ender == gettid()) _exit(end_code);
  if (ender) cexit_park();
  atomic_load(&the_judge)(code, caller);
}

static _Noreturn void really(const char *name, int code) {
  void (*call)(int) = (void (*)(int))dlsym(RTLD_NEXT, name);
  if (call) call(code);
  _exit(code);
}

__attribute__((visibility("default"))) _Noreturn void exit(int code) {
  ask(code, __builtin_return_address(0));
  really("exit", code);
}

__attribute__((visibility("default"))) _Noreturn void quick_exit(int code) {
  ask(code, __builtin_return_address(0));
  really("quick_exit", code);
}

/* Runs inside exit. The thread that ends the process also gets here. */
static void handler(int code, void *unused) {
  (void)unused;
  if (!is_guarded() || atomic_load(&ending) == gettid()) return;
  /* exit removes a handler from the list before it runs it. Without this, a second thread that calls exit would miss the handler. */
  cexit_come_first();
  ask(code, NULL);
}

static void quick_handler(void) {
  if (!is_guarded() || atomic_load(&ending) == gettid()) return;
  at_quick_exit(quick_handler);
  ask(0, NULL);
}

void cexit_come_first(void) {
  if (!is_guarded()) return;
  on_exit(handler, NULL);
  at_quick_exit(quick_handler);
}

void cexit_guard(cexit_judge judge) {
  atomic_store(&guarded, getpid());
  cexit_judge before = atomic_exchange(&the_judge, judge);
  if (!before) cexit_come_first();
}

uint64_t cexit_enter(uint64_t now) {
  uint64_t before = doing;
  doing = now;
  return before;
}

uint64_t cexit_doing(void) { return doing; }

_Noreturn void cexit_end(int code) {
  pid_t none = 0;
  end_code = code;
  if (is_guarded() && !atomic_compare_exchange_strong(&ending, &none, gettid())) cexit_park();
  really("exit", code);
}

const char *cexit_library(const void *address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fname : NULL;
}
