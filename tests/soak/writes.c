/* Notes what a program does to the files below a folder, in order: for tests of what a crash of the machine leaves.

   LD_PRELOAD it with NOTED_BELOW (the folder) and NOTED_IN (the log). A record is a line of words, each argument in
   hexadecimal, then its data:  what offset size path other\n data
   With NOTED_DIE (bytes), the process whose record makes the log that long is killed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
static char *names[MOST]; /* of open files below the folder, by descriptor */
static int appends[MOST];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *below(void) { return getenv("NOTED_BELOW"); }

/* The whole path without links, into `into`; whether it lies below the folder. */
static int whole(const char *path, char *into) {
    const char *top = below();
    char folder[PATH_MAX], real[PATH_MAX];
    if (!top || !path || strlen(path) >= PATH_MAX) return 0;
    strcpy(folder, path);
    char *last = strrchr(folder, '/');
    const char *name = last ? last + 1 : path;
    if (last) *last = 0;
    if (!realpath(last ? (*folder ? folder : "/") : ".", real)) return 0;
    if (strlen(real) + strlen(name) + 2 > PATH_MAX) return 0;
    sprintf(into, "%s/%s", real, name);
    size_t length = strlen(top);
    return !strncmp(into, top, length) && into[length] == '/';
}

static void hexed(char *out, const char *text) {
    if (!*text) { strcpy(out, "-"); return; }
    for (; *text; text++, out += 2) sprintf(out, "%02x", (unsigned char)*text);
}

static void note(const char *what, long offset, const char *path, const char *other, const void *data, long size) {
    static char first[2 * PATH_MAX + 2], second[2 * PATH_MAX + 2];
    char head[5 * PATH_MAX];
    int saved = errno;
    hexed(first, path);
    hexed(second, other);
    int length = snprintf(head, sizeof head, "%s %ld %ld %s %s\n", what, offset, size, first, second);
    int log = REAL(open)(getenv("NOTED_IN"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct iovec parts[2] = {{head, length}, {(void *)data, data ? size : 0}};
    if (log < 0 || writev(log, parts, 2) != length + (data ? size : 0)) abort();
    const char *last = getenv("NOTED_DIE");
    if (last && lseek(log, 0, SEEK_CUR) >= atol(last)) {
        snprintf(head, sizeof head, "%s.died", getenv("NOTED_IN")); /* one alone */
        if (REAL(open)(head, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) raise(SIGKILL);
    }
    REAL(close)(log);
    errno = saved;
}

static int opened(int fd, const char *path, int flags) {
    char full[PATH_MAX];
    if (fd < 0 || fd >= MOST) return fd;
    free(names[fd]);
    names[fd] = NULL;
    if (!whole(path, full) || (flags & O_ACCMODE) == O_RDONLY || (flags & O_DIRECTORY)) return fd;
    names[fd] = strdup(full);
    appends[fd] = flags & O_APPEND;
    note(flags & O_TRUNC ? "empty" : "open", 0, full, "", NULL, 0);
    return fd;
}

#define OPEN(name)                                                                        \
    int name(const char *path, int flags, ...) {                                          \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more);  \
        return opened(REAL(name)(path, flags, mode), path, flags);                        \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                                      \
    int name(int at, const char *path, int flags, ...) {                                  \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more);  \
        int fd = REAL(name)(at, path, flags, mode);                                       \
        return at == AT_FDCWD || *path == '/' ? opened(fd, path, flags) : fd;             \
    }
OPENAT(openat)
OPENAT(openat64)

static char *known(int fd) { return fd >= 0 && fd < MOST ? names[fd] : NULL; }

int close(int fd) {
    if (known(fd)) { free(names[fd]); names[fd] = NULL; }
    return REAL(close)(fd);
}

#define PWRITE(name, off)                                                                 \
    ssize_t name(int fd, const void *data, size_t size, off at) {                         \
        ssize_t done = REAL(name)(fd, data, size, at);                                    \
        if (done > 0 && known(fd)) note("write", at, names[fd], "", data, done);          \
        return done;                                                                      \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
    if (!known(fd)) return REAL(write)(fd, data, size);
    long at = lseek(fd, 0, appends[fd] ? SEEK_END : SEEK_CUR);
    ssize_t done = REAL(write)(fd, data, size);
    if (done > 0) note("write", at, names[fd], "", data, done);
    return done;
}

#define CUT(name, off)                                                                    \
    int name(int fd, off size) {                                                          \
        int done = REAL(name)(fd, size);                                                  \
        if (!done && known(fd)) note("cut", size, names[fd], "", NULL, 0);                \
        return done;                                                                      \
    }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

#define SYNC(name)                                                                        \
    int name(int fd) {                                                                    \
        int done = REAL(name)(fd);                                                        \
        if (!done && known(fd)) note("sync", 0, names[fd], "", NULL, 0);                  \
        return done;                                                                      \
    }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char *from, const char *to) {
    char one[PATH_MAX], two[PATH_MAX];
    int noted = whole(from, one) && whole(to, two), done = REAL(rename)(from, to);
    if (!done && noted) note("rename", 0, one, two, NULL, 0);
    return done;
}

int link(const char *from, const char *to) {
    char one[PATH_MAX], two[PATH_MAX];
    int noted = whole(from, one) && whole(to, two), done = REAL(link)(from, to);
    if (!done && noted) note("link", 0, one, two, NULL, 0);
    return done;
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
    char one[PATH_MAX], two[PATH_MAX];
    int noted = whole(from, one) && whole(to, two), done = REAL(linkat)(a, from, b, to, flags);
    if (!done && noted) note("link", 0, one, two, NULL, 0);
    return done;
}

int unlink(const char *path) {
    char one[PATH_MAX];
    int noted = whole(path, one), done = REAL(unlink)(path);
    if (!done && noted) note("unlink", 0, one, "", NULL, 0);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    char one[PATH_MAX];
    int noted = whole(path, one), done = REAL(mkdir)(path, mode);
    if (!done && noted) note("folder", 0, one, "", NULL, 0);
    return done;
}
