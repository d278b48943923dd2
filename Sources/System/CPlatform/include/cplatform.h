/* What the C library offers only to C, as plain functions. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A number that threads read and write at the same time: who reads what another has stored sees all that it wrote before. */
static inline uint32_t cplatform_load(const uint32_t *number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }
static inline void cplatform_store(uint32_t *number, uint32_t value) { __atomic_store_n(number, value, __ATOMIC_RELEASE); }
/* One that is whole, whatever may stand beside it by then. */
static inline uint64_t cplatform_peek(const uint64_t *number) { return __atomic_load_n(number, __ATOMIC_RELAXED); }
static inline void cplatform_poke(uint64_t *number, uint64_t value) { __atomic_store_n(number, value, __ATOMIC_RELAXED); }

/* The line of the processor's cache that this stands on will be read soon. */
static inline void cplatform_prefetch(const void *address) { __builtin_prefetch(address); }

/* Names the calling thread; the kernel keeps 15 bytes. */
void cplatform_name_thread(const char *name);

/* A counter to wake threads by, not inherited, not blocking; -1 and errno when there is none. */
int cplatform_eventfd(void);

/* The next connection of a listening socket, not inherited, not blocking; -1 and errno when there is none. */
int cplatform_accept(int listener);

/* What changes in a folder: a descriptor that has something to read when something did, not inherited, not blocking; -1 and errno
   when it cannot be watched. */
int cplatform_watch_folder(const char *path);

/* A descriptor that has something to read when something changed in a folder that cplatform_watch_files has named to it, files being
   written included; not inherited, not blocking. -1 and errno when there is none. */
int cplatform_watch(void);

/* Names a folder to it; 0, or -1 and errno. */
int cplatform_watch_files(int watch, const char *folder);

/* Whether nobody has the file open for writing: 1, and until the release nobody opens it so; 0: somebody has; -1: the system does
   not say. */
int cplatform_hold_writers(int file);
void cplatform_release_writers(int file);

/* When the file was made, in nanoseconds since 1970; -1 where the file system does not say. */
int64_t cplatform_birth(int fd);

/* How wide a terminal is; 0: it does not say, or is none. */
int cplatform_columns(int descriptor);

/* Asks for a larger pipe; without effect on anything else. */
void cplatform_widen_pipe(int descriptor, int size);

/* Makes a pipe that is not inherited: its reading and its writing end; 0, or -1 and errno. */
int cplatform_pipe(int ends[2]);

/* Starts a program by its path. descriptors[i] becomes its descriptor i, -1 becomes /dev/null; it inherits no others, no blocked or
   ignored signals, and is in a process group of its own, so that a terminal's signals are the caller's alone. Returns 0, or the
   error. */
int cplatform_spawn(int *child, const char *program, char *const arguments[], char *const environment[], const int *descriptors,
                    int count);

/* Supervises a program: this is the whole life of a process that was started for it (see Process.swift). It reads an order from the
   socket `control`, starts the program with the descriptors below `control`, and reports what becomes of it. It ends when the program
   and all that the program started have ended. When the other end of `control` is shut or its process is gone, in whatever way, it
   kills the program and all that the program started, also what has left the process group, and then ends. It ignores every signal
   that can be ignored, since a signal for the whole group is not for it. Returns -1 when there was no order. */
int cplatform_supervise(int control);

/* An order: this head, then `size` bytes of texts that each end with a zero byte: the path of the program, its arguments (with its
   name as the first), its environment. */
struct cplatform_order {
  uint32_t magic, size, arguments, variables;
  uint64_t memory; /* the most bytes of address space; 0: no bound */
};
enum { CPLATFORM_ORDER = 0x53595301 };

/* What a supervisor says: started with this process id; not started, for this error; ended with this status of waitpid. */
struct cplatform_report {
  int32_t kind, value;
};
enum { CPLATFORM_STARTED = 1, CPLATFORM_FAILED = 2, CPLATFORM_ENDED = 3 };

/* What a supervisor is told by a byte: to send SIGTERM to the program's process group. */
enum { CPLATFORM_TERMINATE = 'T' };

/* Buffers of blocks and batches come and go all the time: keep their memory instead of asking the kernel for it anew. */
void cplatform_keep_memory(int threshold, int trim);

/* How many bytes the allocator has lent out. */
uint64_t cplatform_memory_in_use(void);

/* Where one run of bytes first stands in another, in time that grows with the sum of their lengths; NULL: nowhere. */
const void *cplatform_find(const void *bytes, size_t count, const void *part, size_t length);

/* A copy of a file of at most that many bytes, in memory, which nobody can change from then on: a sealed memfd of that name. It can be
   mapped and run; it is not inherited. -1 and errno when there is none: EFBIG when the file has more bytes. */
int cplatform_sealed_copy(int file, const char *name, uint64_t most);

/* From now on this process is killed when the thread that has started it ends. False when that process is gone already: it was `parent`. */
int cplatform_die_with(int parent);
