/* Wraps, as plain functions, parts of the C library that only C code can call. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A number that several threads read and write at the same time. A thread that loads a stored value also sees everything that the storing
   thread wrote before it. */
static inline uint32_t cplatform_load(const uint32_t *number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }
static inline void cplatform_store(uint32_t *number, uint32_t value) { __atomic_store_n(number, value, __ATOMIC_RELEASE); }
/* A number that is read and written as a whole, without any ordering of other memory. */
static inline uint64_t cplatform_peek(const uint64_t *number) { return __atomic_load_n(number, __ATOMIC_RELAXED); }
static inline void cplatform_poke(uint64_t *number, uint64_t value) { __atomic_store_n(number, value, __ATOMIC_RELAXED); }

/* Tells the processor that the cache line of this address will be read soon. */
static inline void cplatform_prefetch(const void *address) { __builtin_prefetch(address); }

/* Names the calling thread; the kernel keeps 15 bytes. */
void cplatform_name_thread(const char *name);

/* Returns an eventfd, a counter that wakes threads. It is non-blocking and not inherited. Returns -1 and sets errno if there is none. */
int cplatform_eventfd(void);

/* Accepts the next connection of a listening socket. The descriptor is non-blocking and not inherited. Returns -1 and sets errno if there
   is none. */
int cplatform_accept(int listener);

/* Returns the effective user of the process that made this connection to a Unix socket, as it was when it connected. Returns -1 if the
   system cannot tell. */
int64_t cplatform_peer_user(int connection);

/* Watches a folder. Returns a descriptor that becomes readable when something in the folder changes. It is non-blocking and not inherited.
   Returns -1 and sets errno if the folder cannot be watched. */
int cplatform_watch_folder(const char *path);

/* Returns a descriptor that becomes readable when something changes in a folder that was added with cplatform_watch_files. Writes to files
   are changes too. The descriptor is non-blocking and not inherited. Returns -1 and sets errno if there is none. */
int cplatform_watch(void);

/* Adds a folder to the watch. Returns 0, or -1 and sets errno. */
int cplatform_watch_files(int watch, const char *folder);

/* Returns 1 if no process has the file open for writing. Then no process can open it for writing until the release. Returns 0 if a process
   has it open for writing, and -1 if the system cannot tell. */
int cplatform_hold_writers(int file);
void cplatform_release_writers(int file);

/* Returns the creation time of the file in nanoseconds since 1970, or -1 if the file system does not record it. */
int64_t cplatform_birth(int fd);

/* Returns the width of a terminal in columns. Returns 0 if the width is unknown or the descriptor is not a terminal. */
int cplatform_columns(int descriptor);

/* Asks for a larger pipe. Does nothing for other descriptors. */
void cplatform_widen_pipe(int descriptor, int size);

/* Makes a pipe that is not inherited, and stores its reading end and its writing end. Returns 0, or -1 and sets errno. */
int cplatform_pipe(int ends[2]);

/* Starts a program by its path. descriptors[i] becomes its descriptor i, and -1 becomes /dev/null. The program inherits no other
   descriptors and no blocked or ignored signals. It has its own process group, so that only the caller gets the terminal's signals. Returns
   0 or the error. */
int cplatform_spawn(int *child, const char *program, char *const arguments[], char *const environment[], const int *descriptors,
                    int count);

/* Supervises a program. It is the entire work of a process that was started only for this (see Process.swift). It reads an order from the
   socket `control`, starts the program with the descriptors below `control`, and sends reports about it. It ends when the program and all
   processes that the program started have ended. The other end of `control` may be shut down, or its process may end for any reason. Then
   the supervisor kills the program and all processes that the program started, even those that left the process group, and ends. It ignores
   every signal that can be ignored, since a signal for the whole group is not meant for it. Returns -1 if there was no order. */
int cplatform_supervise(int control);

/* An order: this head, followed by `size` bytes of texts that each end with a zero byte. The texts are the path of the program, its
   arguments (the first is its name), and its environment. */
struct cplatform_order {
  uint32_t magic, size, arguments, variables;
  uint64_t memory; /* the limit of address space in bytes; 0 means no limit */
};
enum { CPLATFORM_ORDER = 0x53595301 };

/* A report of a supervisor. `value` is the process id if the program started, the error if it could not start, and the status of waitpid if
   it ended. */
struct cplatform_report {
  int32_t kind, value;
};
enum { CPLATFORM_STARTED = 1, CPLATFORM_FAILED = 2, CPLATFORM_ENDED = 3 };

/* A byte that the caller sends to the supervisor: send SIGTERM to the program's process group. */
enum { CPLATFORM_TERMINATE = 'T' };

/* Sets the allocator's thresholds for large blocks. Buffers of blocks and batches are allocated and freed all the time. With these
   thresholds the allocator keeps their memory and does not ask the kernel for it again. */
void cplatform_keep_memory(int threshold, int trim);

/* Gives back to the kernel what the process does not use at the moment: free memory of the allocator, and pages of code and constants, which
   come back from their files when they are used again. A mapping with a page that differs from its file stays, such as one in which a
   debugger has set a breakpoint. */
void cplatform_give_back(void);

/* Returns the number of bytes that the allocator has handed out. */
uint64_t cplatform_memory_in_use(void);

/* Returns the first place where one run of bytes occurs in another, or NULL if it does not occur. The time grows with the sum of their
   lengths. */
const void *cplatform_find(const void *bytes, size_t count, const void *part, size_t length);

/* Makes a copy in memory of a file of at most `most` bytes: a sealed memfd with the given name. Nobody can change it afterwards. It can be
   mapped and executed, and it is not inherited. Returns -1 and sets errno if it cannot be made, to EFBIG if the file is larger. */
int cplatform_sealed_copy(int file, const char *name, uint64_t most);

/* Makes the kernel kill this process when the thread that started it ends. Returns 0 if the process `parent`, which started it, is already
   gone. */
int cplatform_die_with(int parent);
