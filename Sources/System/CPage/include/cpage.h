// The files of the page on the address of admin, as constants of the program.
#ifndef CPAGE_H
#define CPAGE_H

#include <stddef.h>

struct cpage_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

// The number of files, and the file with a number from 0.
int cpage_count(void);
struct cpage_file cpage_file(int number);

#endif
