/*
 * LD_PRELOAD library that adds 2 ms to each fsync and fdatasync, to simulate a slower disk.
 * cc -shared -fPIC -O2 -o slow-fsync.so slow-fsync.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

typedef int (*sync_call)(int);

static int delayed(const char *name, int file)
{
    struct timespec wait = {0, 2 * 1000 * 1000};
    sync_call real = (sync_call) dlsym(RTLD_NEXT, name);

    nanosleep(&wait, 0);
    return real(file);
}

int fsync(int file)
{
    return delayed("fsync", file);
}

int fdatasync(int file)
{
    return delayed("fdatasync", file);
}
