/* A file system for SQLite that fails on demand and can simulate a loss of power. It wraps SQLite's own file system. */
#pragma once
#include <stdint.h>

enum faulty_kind { FAULTY_IO, FAULTY_FULL, FAULTY_SHORT };

/* Which files can grow: all files, only files that were opened empty after the last faulty_disk_fill, or no file. */
enum faulty_room { FAULTY_ROOM, FAULTY_ROOM_FOR_NEW, FAULTY_NO_ROOM };

/* A separate disk. Tests that have their own disks can run at the same time. `FaultyDisk` in TestSupport owns one. */
struct faulty_disk;
struct faulty_disk *faulty_disk_make(void);
/* All files of the disk must be closed before. */
void faulty_disk_destroy(struct faulty_disk *disk);
/* Returns the name of the disk for sqlite3_open_v2. */
const char *faulty_disk_name(struct faulty_disk *disk);
/* Counts calls from 0 again. Fails the call with the number `at` (-1 for none), and also all later calls if `stays` is true. */
void faulty_disk_arm(struct faulty_disk *disk, int64_t at, enum faulty_kind kind, int stays);
/* Sets which files can grow from now on. At first all files can grow. */
void faulty_disk_fill(struct faulty_disk *disk, enum faulty_room room);
/* Returns the number of counted calls. These are the calls that can fail: open, write, sync, truncate, delete, read. */
int64_t faulty_disk_calls(struct faulty_disk *disk);
/* Remembers what is written and not yet synced, from now on. */
void faulty_disk_watch_power(struct faulty_disk *disk);
/* Simulates a loss of power. Each remembered change of a file is kept, lost or kept in part, as the seed determines.
   All files must be closed before. Afterwards nothing is remembered. */
void faulty_disk_cut_power(struct faulty_disk *disk, uint64_t seed);
/* Returns the number of open files. */
int faulty_disk_open_files(struct faulty_disk *disk);
