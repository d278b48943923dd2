/* exit and quick_exit as the whole process sees them. The executable defines both, and the dynamic linker prefers what the executable
   defines, so a call from a module comes here before any handler of atexit and any destructor runs. Unless somebody guards the process
   they do what they always did.

   What calls them within the C library itself, such as errx, does not come here: a handler of on_exit, registered anew after each module
   is loaded, so that it runs before those of the module, catches it. _exit, a signal and abort cannot be caught. */
#pragma once
#include <stdint.h>

/* Asked in the thread that calls exit, in the process that is guarded and not in one that it has forked, and not of the executable's own
   calls. When it returns, the process ends. `caller` is an address in the code that has called; NULL: it is not known. */
typedef void (*cexit_judge)(int code, const void *caller);

/* From now on `judge` is asked. */
void cexit_guard(cexit_judge judge);

/* To be called after a library was loaded: its own handlers, registered by now, run after ours. */
void cexit_come_first(void);

/* What this thread is doing, as a number of the caller's own; returns what it was doing. 0: nothing of a module's. */
uint64_t cexit_enter(uint64_t doing);
uint64_t cexit_doing(void);

/* Ends the process with that code, by the calling thread: handlers and destructors run, and none of them can change the code. Other
   threads that call exit meanwhile never return, and end nothing. */
_Noreturn void cexit_end(int code);

/* The calling thread does nothing more, for as long as the process lives. */
_Noreturn void cexit_park(void);

/* The path by which the library that holds this address was loaded; NULL: there is none. */
const char *cexit_library(const void *address);
