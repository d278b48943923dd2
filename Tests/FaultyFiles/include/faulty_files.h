/* A file system under SQLite that fails when it is told to, and that can lose power. It stands over SQLite's own. */
#pragma once
#include <stdint.h>

enum faulty_kind { FAULTY_IO, FAULTY_FULL, FAULTY_SHORT };

/* Whether files can grow: all, those that were opened since then and were empty, or none. */
enum faulty_room { FAULTY_ROOM, FAULTY_ROOM_FOR_NEW, FAULTY_NO_ROOM };

/* A disk of its own: tests that have one each run at the same time. `FaultyDisk` of TestSupport holds one. */
struct faulty_disk;
struct faulty_disk *faulty_disk_make(void);
/* All its files must have been closed. */
void faulty_disk_destroy(struct faulty_disk *disk);
/* Its name for sqlite3_open_v2. */
const char *faulty_disk_name(struct faulty_disk *disk);
/* From now on counts calls from 0, and fails the one with the number `at` (never: -1), and all after it if `stays`. */
void faulty_disk_arm(struct faulty_disk *disk, int64_t at, enum faulty_kind kind, int stays);
/* From now on there is so much room; at first there is room for all. */
void faulty_disk_fill(struct faulty_disk *disk, enum faulty_room room);
/* How many calls there were that can fail: open, write, sync, truncate, delete, read. */
int64_t faulty_disk_calls(struct faulty_disk *disk);
/* From now on remembers what is written and not yet synced. */
void faulty_disk_watch_power(struct faulty_disk *disk);
/* The power fails: of each file that is open or was, what was not synced is there, or not, or in part, as the seed has it.
   Everything must have been closed. Afterwards nothing is remembered. */
void faulty_disk_cut_power(struct faulty_disk *disk, uint64_t seed);
/* Files that are open. */
int faulty_disk_open_files(struct faulty_disk *disk);

/* The same with one disk that tests share in turns. A test that waits for its turn waits for all tests that were queued before it: new
   tests take a disk of their own. */
#define FAULTY_FILES "faulty"

/* Takes it for the caller until it is given back, by the same thread. 0: another has it. */
int faulty_try_take(void);
void faulty_give(void);
void faulty_arm(int64_t at, enum faulty_kind kind, int stays);
int64_t faulty_calls(void);
/* Whether the call was reached. */
int faulty_has_failed(void);
void faulty_watch_power(void);
void faulty_cut_power(uint64_t seed);
int faulty_open_files(void);
