#pragma once
#include <sqlite3.h>

/* sqlite3_db_config is variadic, and Swift cannot call variadic functions. */
static inline int csqlite_keep_log(sqlite3 *database, int keeps) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}
