#include "faulty_files.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The durable contents of a file, and the changes since the last sync. */
struct change {
  int64_t offset;
  int64_t size; /* the new size for a truncation */
  char *bytes;  /* NULL for a truncation */
  struct change *next;
};
struct image {
  char *path;
  char *bytes;
  int64_t size;
  struct change *first, **last;
  struct image *next;
};

struct faulty_disk {
  sqlite3_vfs vfs;
  char name[32];
  pthread_mutex_t lock;
  int64_t calls, fail_at;
  enum faulty_kind kind;
  int stays, watches, open_files;
  enum faulty_room room;
  int fills;
  struct image *images;
};

struct file {
  sqlite3_file base;
  struct faulty_disk *disk;
  struct image *image;
  sqlite3_file *real;
  int was_empty, fills;
};

static sqlite3_vfs *real;

static sqlite3_file *inner(sqlite3_file *file) { return ((struct file *)file)->real; }
static struct faulty_disk *disk_of(sqlite3_file *file) { return ((struct file *)file)->disk; }

/* Counts a call. Returns true if the call must fail. */
static int fails(struct faulty_disk *disk) {
  pthread_mutex_lock(&disk->lock);
  int64_t number = disk->calls++;
  int result = disk->fail_at >= 0 && (number == disk->fail_at || (disk->stays && number > disk->fail_at));
  pthread_mutex_unlock(&disk->lock);
  return result;
}

static int code(struct faulty_disk *disk, int io) { return disk->kind == FAULTY_IO ? io : SQLITE_FULL; }

/* Returns true if the disk has no space for the file to grow to that size. */
static int finds_no_room(sqlite3_file *file, int64_t size) {
  struct faulty_disk *disk = disk_of(file);
  pthread_mutex_lock(&disk->lock);
  enum faulty_room room = disk->room;
  int is_new = ((struct file *)file)->was_empty && ((struct file *)file)->fills == disk->fills;
  pthread_mutex_unlock(&disk->lock);
  if (room == FAULTY_ROOM || (room == FAULTY_ROOM_FOR_NEW && is_new)) return 0;
  sqlite3_int64 now = 0;
  return inner(file)->pMethods->xFileSize(inner(file), &now) == SQLITE_OK && size > now;
}

/* Images */

static struct image *image_of(struct faulty_disk *disk, const char *path) {
  if (!disk->watches || !path) return NULL;
  for (struct image *image = disk->images; image; image = image->next)
    if (strcmp(image->path, path) == 0) return image;
  struct image *image = calloc(1, sizeof *image);
  image->path = strdup(path);
  image->last = &image->first;
  image->next = disk->images;
  disk->images = image;
  FILE *file = fopen(path, "rb");
  if (file) {
    fseek(file, 0, SEEK_END);
    image->size = ftell(file);
    rewind(file);
    image->bytes = malloc(image->size + 1);
    if (fread(image->bytes, 1, image->size, file) != (size_t)image->size) abort();
    fclose(file);
  }
  return image;
}

static void note(struct image *image, int64_t offset, const void *bytes, int64_t size) {
  if (!image) return;
  struct change *change = calloc(1, sizeof *change);
  change->offset = offset;
  change->size = size;
  if (bytes) {
    change->bytes = malloc(size);
    memcpy(change->bytes, bytes, size);
  }
  *image->last = change;
  image->last = &change->next;
}

static void resize(struct image *image, int64_t size) {
  image->bytes = realloc(image->bytes, size + 1);
  if (size > image->size) memset(image->bytes + image->size, 0, size - image->size);
  image->size = size;
}

/* Applies the first `part` bytes of a change. */
static void apply(struct image *image, struct change *change, int64_t part) {
  if (!change->bytes) return resize(image, change->size);
  if (part == 0) return;
  if (change->offset + part > image->size) resize(image, change->offset + part);
  memcpy(image->bytes + change->offset, change->bytes, part);
}

static void forget(struct image *image) {
  while (image->first) {
    struct change *change = image->first;
    image->first = change->next;
    free(change->bytes);
    free(change);
  }
  image->last = &image->first;
}

static void settle(struct image *image) {
  if (!image) return;
  for (struct change *change = image->first; change; change = change->next) apply(image, change, change->size);
  forget(image);
}

static uint64_t chance(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void faulty_disk_cut_power(struct faulty_disk *disk, uint64_t seed) {
  while (disk->images) {
    struct image *image = disk->images;
    disk->images = image->next;
    /* A disk may write unsynced changes in any order, and it writes a sector completely or not at all. Random numbers decide which changes
       are lost and which are torn. */
    uint64_t loses = chance(&seed) % 4;
    for (struct change *change = image->first; change; change = change->next) {
      uint64_t die = chance(&seed);
      if (loses == 0 || (loses < 3 && die % 2)) apply(image, change, change->size);
      else if (loses == 2 && change->bytes) apply(image, change, change->size * (int64_t)(die >> 8 & 7) / 8 / 512 * 512);
    }
    if (access(image->path, F_OK) == 0) {
      FILE *file = fopen(image->path, "wb");
      if (!file || fwrite(image->bytes ? image->bytes : "", 1, image->size, file) != (size_t)image->size) abort();
      fclose(file);
    }
    size_t length = strlen(image->path);
    if (length > 4 && strcmp(image->path + length - 4, "-wal") != 0) {
      char *shared = malloc(length + 5);
      sprintf(shared, "%s-shm", image->path);
      unlink(shared);
      free(shared);
    }
    forget(image);
    free(image->bytes);
    free(image->path);
    free(image);
  }
  disk->watches = 0;
}

/* Files */

static int file_close(sqlite3_file *file) {
  struct faulty_disk *disk = disk_of(file);
  int result = inner(file)->pMethods ? inner(file)->pMethods->xClose(inner(file)) : SQLITE_OK;
  free(inner(file));
  pthread_mutex_lock(&disk->lock);
  disk->open_files--;
  pthread_mutex_unlock(&disk->lock);
  return result;
}
static int file_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset) {
  if (fails(disk_of(file))) return SQLITE_IOERR_READ;
  return inner(file)->pMethods->xRead(inner(file), out, size, offset);
}
static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
  struct image *image = ((struct file *)file)->image;
  if (fails(disk_of(file))) {
    if (disk_of(file)->kind == FAULTY_SHORT) {
      note(image, offset, bytes, size / 2);
      inner(file)->pMethods->xWrite(inner(file), bytes, size / 2, offset);
    }
    return code(disk_of(file), SQLITE_IOERR_WRITE);
  }
  if (finds_no_room(file, offset + size)) return SQLITE_FULL;
  note(image, offset, bytes, size);
  return inner(file)->pMethods->xWrite(inner(file), bytes, size, offset);
}
static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  if (fails(disk_of(file))) return code(disk_of(file), SQLITE_IOERR_TRUNCATE);
  note(((struct file *)file)->image, 0, NULL, size);
  return inner(file)->pMethods->xTruncate(inner(file), size);
}
static int file_sync(sqlite3_file *file, int flags) {
  if (fails(disk_of(file))) return SQLITE_IOERR_FSYNC;
  /* The real disk is not synced, since the loss of power is only simulated. */
  (void)flags;
  settle(((struct file *)file)->image);
  return SQLITE_OK;
}
static int file_size(sqlite3_file *file, sqlite3_int64 *size) { return inner(file)->pMethods->xFileSize(inner(file), size); }
static int file_lock(sqlite3_file *file, int level) { return inner(file)->pMethods->xLock(inner(file), level); }
static int file_unlock(sqlite3_file *file, int level) { return inner(file)->pMethods->xUnlock(inner(file), level); }
static int file_check(sqlite3_file *file, int *out) { return inner(file)->pMethods->xCheckReservedLock(inner(file), out); }
static int file_control(sqlite3_file *file, int op, void *arg) { return inner(file)->pMethods->xFileControl(inner(file), op, arg); }
static int file_sector(sqlite3_file *file) { return inner(file)->pMethods->xSectorSize(inner(file)); }
static int file_traits(sqlite3_file *file) { return inner(file)->pMethods->xDeviceCharacteristics(inner(file)); }
static int file_map(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
  return inner(file)->pMethods->xShmMap(inner(file), page, size, extend, out);
}
static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
  return inner(file)->pMethods->xShmLock(inner(file), offset, n, flags);
}
static void file_barrier(sqlite3_file *file) { inner(file)->pMethods->xShmBarrier(inner(file)); }
static int file_unmap(sqlite3_file *file, int deletes) { return inner(file)->pMethods->xShmUnmap(inner(file), deletes); }

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_barrier,
    .xShmUnmap = file_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *out, int flags, int *out_flags) {
  struct file *file = (struct file *)out;
  struct faulty_disk *disk = vfs->pAppData;
  file->base.pMethods = NULL;
  if (fails(disk)) return code(disk, SQLITE_CANTOPEN);
  file->disk = disk;
  pthread_mutex_lock(&disk->lock);
  file->image = image_of(disk, path);
  pthread_mutex_unlock(&disk->lock);
  file->real = calloc(1, real->szOsFile);
  int result = real->xOpen(real, path, file->real, flags, out_flags);
  if (result != SQLITE_OK) {
    free(file->real);
    return result;
  }
  sqlite3_int64 size = 0;
  file->was_empty = file->real->pMethods->xFileSize(file->real, &size) == SQLITE_OK && size == 0;
  file->base.pMethods = &methods;
  pthread_mutex_lock(&disk->lock);
  disk->open_files++;
  file->fills = disk->fills;
  pthread_mutex_unlock(&disk->lock);
  return SQLITE_OK;
}
static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync) {
  if (fails(vfs->pAppData)) return SQLITE_IOERR_DELETE;
  return real->xDelete(real, path, sync);
}
static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
  (void)vfs;
  return real->xAccess(real, path, flags, out);
}
static int vfs_full(sqlite3_vfs *vfs, const char *path, int size, char *out) {
  (void)vfs;
  return real->xFullPathname(real, path, size, out);
}
static int vfs_random(sqlite3_vfs *vfs, int size, char *out) {
  (void)vfs;
  return real->xRandomness(real, size, out);
}
static int vfs_sleep(sqlite3_vfs *vfs, int time) {
  (void)vfs;
  return real->xSleep(real, time);
}
static int vfs_time(sqlite3_vfs *vfs, double *out) {
  (void)vfs;
  return real->xCurrentTime(real, out);
}
static int vfs_error(sqlite3_vfs *vfs, int size, char *out) {
  (void)vfs;
  return real->xGetLastError(real, size, out);
}

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static unsigned made;

struct faulty_disk *faulty_disk_make(void) {
  struct faulty_disk *disk = calloc(1, sizeof *disk);
  pthread_mutex_lock(&making);
  if (!real) real = sqlite3_vfs_find(NULL);
  snprintf(disk->name, sizeof disk->name, "faulty-%u", made++);
  pthread_mutex_unlock(&making);
  pthread_mutex_init(&disk->lock, NULL);
  disk->fail_at = -1;
  disk->vfs = (sqlite3_vfs){
      .iVersion = 1,
      .szOsFile = sizeof(struct file),
      .mxPathname = real->mxPathname,
      .zName = disk->name,
      .pAppData = disk,
      .xOpen = vfs_open,
      .xDelete = vfs_delete,
      .xAccess = vfs_access,
      .xFullPathname = vfs_full,
      .xRandomness = vfs_random,
      .xSleep = vfs_sleep,
      .xCurrentTime = vfs_time,
      .xGetLastError = vfs_error,
  };
  sqlite3_vfs_register(&disk->vfs, 0);
  return disk;
}

void faulty_disk_destroy(struct faulty_disk *disk) {
  /* An open file still uses the disk. */
  if (faulty_disk_open_files(disk) > 0) return;
  sqlite3_vfs_unregister(&disk->vfs);
  while (disk->images) {
    struct image *image = disk->images;
    disk->images = image->next;
    forget(image);
    free(image->bytes);
    free(image->path);
    free(image);
  }
  pthread_mutex_destroy(&disk->lock);
  free(disk);
}

const char *faulty_disk_name(struct faulty_disk *disk) { return disk->name; }

void faulty_disk_fill(struct faulty_disk *disk, enum faulty_room room) {
  pthread_mutex_lock(&disk->lock);
  disk->room = room;
  disk->fills++;
  pthread_mutex_unlock(&disk->lock);
}

void faulty_disk_arm(struct faulty_disk *disk, int64_t at, enum faulty_kind what, int all) {
  pthread_mutex_lock(&disk->lock);
  disk->calls = 0;
  disk->fail_at = at;
  disk->kind = what;
  disk->stays = all;
  pthread_mutex_unlock(&disk->lock);
}

int64_t faulty_disk_calls(struct faulty_disk *disk) {
  pthread_mutex_lock(&disk->lock);
  int64_t result = disk->calls;
  pthread_mutex_unlock(&disk->lock);
  return result;
}
int faulty_disk_open_files(struct faulty_disk *disk) {
  pthread_mutex_lock(&disk->lock);
  int result = disk->open_files;
  pthread_mutex_unlock(&disk->lock);
  return result;
}
void faulty_disk_watch_power(struct faulty_disk *disk) { disk->watches = 1; }
