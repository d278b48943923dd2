/* A file system under SQLite that fails when it is told to, and that can lose power. It stands over SQLite's own. */
#pragma once
#include <stdint.h>

/* Its name for sqlite3_open_v2. */
#define FAULTY_FILES "faulty"

enum faulty_kind { FAULTY_IO, FAULTY_FULL, FAULTY_SHORT };

/* Registers it, and takes it for the caller until it is given back, by the same thread: there is one for the whole process, and suites
   run at the same time. 0: another has it. */
int faulty_try_take(void);
void faulty_give(void);
/* From now on counts calls from 0, and fails the one with the number `at` (never: -1), and all after it if `stays`. */
void faulty_arm(int64_t at, enum faulty_kind kind, int stays);
/* How many calls there were that can fail: open, write, sync, truncate, delete, read. */
int64_t faulty_calls(void);
/* Whether the call was reached. */
int faulty_has_failed(void);
/* From now on remembers what is written and not yet synced. */
void faulty_watch_power(void);
/* The power fails: of each file that is open or was, what was not synced is there, or not, or in part, as the seed has it.
   Everything must have been closed. Afterwards nothing is remembered. */
void faulty_cut_power(uint64_t seed);
/* Files that are open. */
int faulty_open_files(void);
