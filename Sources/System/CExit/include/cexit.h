/* Replaces exit and quick_exit for the whole process. The executable defines both, and the dynamic linker prefers the definitions of the
   executable. So a call from a module gets here before any atexit handler and any destructor runs. If the process is not guarded, both
   functions behave as usual.

   Calls from inside the C library, such as in errx, do not get here. An on_exit handler catches them. It is registered again after each
   module is loaded, so that it runs before the handlers of the module. _exit, signals and abort cannot be caught. */
#pragma once
#include <stdint.h>

/* Decides about a call of exit. It is called in the thread that calls exit, and only in the guarded process, not in its forked children. It
   is never called for calls from the executable. If it returns, the process ends. `caller` is an address in the calling code, or NULL if it
   is unknown. */
typedef void (*cexit_judge)(int code, const void *caller);

/* Guards this process: from now on `judge` is called. */
void cexit_guard(cexit_judge judge);

/* Call this after a library was loaded. The library has registered its handlers by then, so they run after ours. */
void cexit_come_first(void);

/* Sets what this thread is doing, as a number that the caller defines, and returns the previous value. 0 means that it runs no code of a
   module. */
uint64_t cexit_enter(uint64_t doing);
uint64_t cexit_doing(void);

/* Ends the process with that code, on the calling thread. Handlers and destructors run, and none of them can change the code. If another
   thread calls exit meanwhile, the call never returns and ends nothing. */
_Noreturn void cexit_end(int code);

/* Suspends the calling thread until the process ends. */
_Noreturn void cexit_park(void);

/* Returns the path from which the library that contains this address was loaded, or NULL if there is none. */
const char *cexit_library(const void *address);
