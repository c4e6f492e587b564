// torn-disk LIVE DURABLE MOUNTPOINT: a file system that can lose what was not synced.
//
// LIVE has all writes; reads come from there. A write is remembered until its file is synced: only then it is made in DURABLE, too.
// Creating, renaming, deleting and truncating files takes effect in both at once, which a disk may do and need not. Files whose names
// end with -shm are memory that SQLite shares between processes by mmap and builds anew after a crash: they are not remembered.
//
// Commands on standard input, each answered with one line:
//   cut SEED   makes some of the remembered writes in DURABLE, in any order, some of them only in part, by sectors of 512 bytes: as
//              soon as there are any, or with an odd seed at the next sync that has something to write, after a second at the latest.
//              From then on DURABLE does not change and no sync ends. Answers with the numbers of writes remembered, made and torn.
//   sync       syncs all files.
//   eio N END  from now on N in 100 syncs of files whose names end so, or of all, fail with EIO. What a failed sync should have
//              written is never written, as on Linux. Answers with the number of syncs that have failed so far.
// The end of standard input unmounts it.

#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SECTOR 512
#define BUCKETS 4096
#define SYNC_MICROSECONDS 1000

struct write {
  off_t at;
  size_t size;
  struct write *next;
  char bytes[];
};

/** A file of LIVE with writes that are not in DURABLE. */
struct file {
  ino_t ino;
  int durable;
  struct write *first, **end;
  struct file *next;
};

static int live, durable;
static const char *mountpoint;
static struct file *files[BUCKETS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_cut, failing_percent, failed_syncs;
static char failing_ending[64];
static unsigned cut_at_next_sync;

static const char *rel(const char *path) { return path[1] ? path + 1 : "."; }

static int result(int status) { return status < 0 ? -errno : 0; }

static int ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), most = strlen(ending);
  return length >= most && !strcmp(path + length - most, ending);
}

static int is_shared_memory(const char *path) { return ends_with(path, "-shm"); }

static struct file **place_of(ino_t ino) {
  struct file **place = &files[ino % BUCKETS];
  while (*place && (*place)->ino != ino) place = &(*place)->next;
  return place;
}

static struct file *file_of(int fd, const char *path) {
  struct stat stat;
  if (fstat(fd, &stat) < 0) return NULL;
  struct file **place = place_of(stat.st_ino);
  if (!*place) {
    int opened = openat(durable, rel(path), O_WRONLY);
    if (opened < 0) return NULL;
    struct file *made = calloc(1, sizeof *made);
    *made = (struct file){.ino = stat.st_ino, .durable = opened, .end = &made->first};
    *place = made;
  }
  return *place;
}

static void drop_writes(struct file *file) {
  for (struct write *one = file->first, *next; one; one = next) {
    next = one->next;
    free(one);
  }
  file->first = NULL;
  file->end = &file->first;
}

/** Makes the remembered writes of a file, or loses them. */
static void settle(struct file *file, int make) {
  for (struct write *one = file->first; make && !is_cut && one; one = one->next)
    if (pwrite(file->durable, one->bytes, one->size, one->at) != (ssize_t)one->size) abort();
  drop_writes(file);
}

static void forget(ino_t ino) {
  struct file **place = place_of(ino), *file = *place;
  if (!file) return;
  drop_writes(file);
  close(file->durable);
  *place = file->next;
  free(file);
}

/** A write beyond the new end of the file must not be made later. */
static void clip(struct file *file, off_t size) {
  for (struct write *one = file->first; one; one = one->next)
    if (one->at + (off_t)one->size > size) one->size = one->at < size ? size - one->at : 0;
}

static void make_some(struct write *one, int fd, int torn) {
  for (size_t from = 0, to; from < one->size; from = to) {
    to = from + SECTOR - (one->at + from) % SECTOR;
    if (to > one->size) to = one->size;
    if (torn && rand() % 2) continue;
    if (pwrite(fd, one->bytes + from, to - from, one->at + from) < 0) abort();
  }
}

static int has_writes(void) {
  for (int bucket = 0; bucket < BUCKETS; bucket++)
    for (struct file *file = files[bucket]; file; file = file->next)
      if (file->first) return 1;
  return 0;
}

static void cut_now(unsigned seed) {
  static const int KEPT_PERCENT[] = {0, 10, 50, 90, 100};
  int known = 0, made = 0, torn = 0;
  srand(seed);
  for (int bucket = 0; bucket < BUCKETS; bucket++)
    for (struct file *file = files[bucket]; file; file = file->next) {
      int count = 0, kept = KEPT_PERCENT[rand() % 5];
      for (struct write *one = file->first; one; one = one->next) count++;
      known += count;
      struct write **order = calloc(count + 1, sizeof *order);
      count = 0;
      for (struct write *one = file->first; one; one = one->next) {
        int other = rand() % ++count;
        order[count - 1] = order[other];
        order[other] = one;
      }
      for (int at = 0; at < count; at++) {
        if (rand() % 100 >= kept) continue;
        int is_torn = order[at]->size > SECTOR && rand() % 4 == 0;
        make_some(order[at], file->durable, is_torn);
        made++;
        torn += is_torn;
      }
      free(order);
    }
  is_cut = 1;
  printf("%d %d %d\n", known, made, torn);
  fflush(stdout);
}

static void *run_commands(void *unused) {
  char line[100];
  while (fgets(line, sizeof line, stdin)) {
    pthread_mutex_lock(&mutex);
    if (!strncmp(line, "cut ", 4)) {
      unsigned seed = strtoul(line + 4, NULL, 10);
      cut_at_next_sync = seed % 2 ? seed : 0;
      for (int wait = 0; (cut_at_next_sync || !has_writes()) && !is_cut && wait < 1000; wait++) {
        pthread_mutex_unlock(&mutex);
        usleep(1000);
        pthread_mutex_lock(&mutex);
      }
      if (!is_cut) cut_now(seed);
    } else if (!strncmp(line, "eio ", 4)) {
      failing_ending[0] = 0;
      sscanf(line + 4, "%d %63s", &failing_percent, failing_ending);
      printf("%d\n", failed_syncs);
    } else {
      for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (struct file *file = files[bucket]; file; file = file->next) settle(file, 1);
      puts("ok");
    }
    fflush(stdout);
    pthread_mutex_unlock(&mutex);
  }
  umount2(mountpoint, MNT_DETACH);
  _exit(0);
  return unused;
}

// Operations that take effect in both at once. Errors are those of LIVE.
#define BOTH(call_live, call_durable) \
  int status = result(call_live);     \
  if (!status && !is_cut && (call_durable) < 0) return -EIO; \
  return status

static int fs_getattr(const char *path, struct stat *stat, struct fuse_file_info *info) {
  return result(info ? fstat(info->fh, stat) : fstatat(live, rel(path), stat, AT_SYMLINK_NOFOLLOW));
}

static int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  int fd = openat(live, rel(path), O_RDONLY | O_DIRECTORY);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) return -errno;
  for (struct dirent *entry; (entry = readdir(folder));) fill(buffer, entry->d_name, NULL, 0, 0);
  closedir(folder);
  return 0;
}

static int own(int folder, const char *path) {
  struct fuse_context *context = fuse_get_context();
  return fchownat(folder, path, context->uid, context->gid, AT_SYMLINK_NOFOLLOW);
}

static int fs_mkdir(const char *path, mode_t mode) {
  BOTH(mkdirat(live, rel(path), mode) | own(live, rel(path)), mkdirat(durable, rel(path), mode) | own(durable, rel(path)));
}

static int fs_rmdir(const char *path) {
  BOTH(unlinkat(live, rel(path), AT_REMOVEDIR), unlinkat(durable, rel(path), AT_REMOVEDIR));
}

static void forget_path(const char *path) {
  struct stat stat;
  pthread_mutex_lock(&mutex);
  if (!fstatat(live, rel(path), &stat, AT_SYMLINK_NOFOLLOW) && stat.st_nlink == 1) forget(stat.st_ino);
  pthread_mutex_unlock(&mutex);
}

static int fs_unlink(const char *path) {
  forget_path(path);
  BOTH(unlinkat(live, rel(path), 0), unlinkat(durable, rel(path), 0));
}

static int fs_rename(const char *from, const char *to, unsigned flags) {
  if (!(flags & RENAME_NOREPLACE)) forget_path(to);
  BOTH(renameat2(live, rel(from), live, rel(to), flags), renameat2(durable, rel(from), durable, rel(to), flags));
}

static int fs_link(const char *from, const char *to) {
  BOTH(linkat(live, rel(from), live, rel(to), 0), linkat(durable, rel(from), durable, rel(to), 0));
}

static int fs_symlink(const char *target, const char *path) {
  BOTH(symlinkat(target, live, rel(path)), symlinkat(target, durable, rel(path)));
}

static int fs_readlink(const char *path, char *target, size_t size) {
  ssize_t length = readlinkat(live, rel(path), target, size - 1);
  if (length < 0) return -errno;
  target[length] = 0;
  return 0;
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *info) {
  (void)info;
  BOTH(fchmodat(live, rel(path), mode, 0), fchmodat(durable, rel(path), mode, 0));
}

static int fs_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *info) {
  (void)info;
  BOTH(fchownat(live, rel(path), uid, gid, AT_SYMLINK_NOFOLLOW), fchownat(durable, rel(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info) {
  (void)info;
  return result(utimensat(live, rel(path), times, AT_SYMLINK_NOFOLLOW));
}

/** Also extends a file, with zeros. */
static int resize(int fd, const char *path, off_t size) {
  struct file *file = file_of(fd, path);
  if (!file) return -EIO;
  clip(file, size);
  BOTH(ftruncate(fd, size), ftruncate(file->durable, size));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info) {
  int fd = info ? (int)info->fh : openat(live, rel(path), O_WRONLY);
  if (fd < 0) return -errno;
  pthread_mutex_lock(&mutex);
  int status = resize(fd, path, size);
  pthread_mutex_unlock(&mutex);
  if (!info) close(fd);
  return status;
}

static int fs_fallocate(const char *path, int mode, off_t at, off_t size, struct fuse_file_info *info) {
  struct stat stat;
  if (mode) return -EOPNOTSUPP;
  if (fstat(info->fh, &stat) < 0) return -errno;
  return at + size > stat.st_size ? fs_truncate(path, at + size, info) : 0;
}

static int fs_open(const char *path, struct fuse_file_info *info) {
  // The kernel asks us to read, too, in order to fill its pages; it has checked permissions.
  int fd = openat(live, rel(path), (info->flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR);
  if (fd < 0) return -errno;
  info->fh = fd;
  return info->flags & O_TRUNC ? fs_truncate(path, 0, info) : 0;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info) {
  int fd = openat(live, rel(path), O_RDWR | O_CREAT, mode);
  if (fd < 0) return -errno;
  info->fh = fd;
  if (own(live, rel(path)) < 0) return -errno;
  if (is_cut) return 0;
  int other = openat(durable, rel(path), O_RDWR | O_CREAT, mode);
  if (other < 0 || own(durable, rel(path)) < 0) return -EIO;
  close(other);
  return info->flags & O_TRUNC ? fs_truncate(path, 0, info) : 0;
}

static int fs_read(const char *path, char *bytes, size_t size, off_t at, struct fuse_file_info *info) {
  (void)path;
  ssize_t count = pread(info->fh, bytes, size, at);
  return count < 0 ? -errno : (int)count;
}

static int fs_write(const char *path, const char *bytes, size_t size, off_t at, struct fuse_file_info *info) {
  ssize_t count = pwrite(info->fh, bytes, size, at);
  if (count < 0) return -errno;
  if (is_cut || is_shared_memory(path)) return count;
  pthread_mutex_lock(&mutex);
  struct file *file = file_of(info->fh, path);
  struct write *made = file ? malloc(sizeof *made + count) : NULL;
  if (made) {
    *made = (struct write){.at = at, .size = count};
    memcpy(made->bytes, bytes, count);
    *file->end = made;
    file->end = &made->next;
  }
  pthread_mutex_unlock(&mutex);
  return made ? (int)count : -EIO;
}

static int fs_fsync(const char *path, int only_data, struct fuse_file_info *info) {
  (void)only_data;
  // As long as a disk takes: most cuts come before a sync has ended.
  usleep(SYNC_MICROSECONDS);
  pthread_mutex_lock(&mutex);
  struct file *file = file_of(info->fh, path);
  if (cut_at_next_sync && !is_cut && file && file->first) cut_now(cut_at_next_sync);
  if (is_cut) {
    // Nothing may be told that its data is safe. The kernel gives up waiting when this process ends.
    pthread_mutex_unlock(&mutex);
    for (;;) pause();
  }
  int fails = rand() % 100 < failing_percent && ends_with(path, failing_ending);
  failed_syncs += fails;
  if (file) settle(file, !fails);
  pthread_mutex_unlock(&mutex);
  return fails ? -EIO : 0;
}

static int fs_fsyncdir(const char *path, int only_data, struct fuse_file_info *info) {
  (void)path, (void)only_data, (void)info;
  return 0;
}

static int fs_release(const char *path, struct fuse_file_info *info) {
  (void)path;
  return result(close(info->fh));
}

static int fs_statfs(const char *path, struct statvfs *stat) {
  (void)path;
  return result(fstatvfs(live, stat));
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config) {
  (void)connection, (void)config;
  puts("mounted");
  fflush(stdout);
  return NULL;
}

static const struct fuse_operations OPERATIONS = {
    .init = fs_init, .getattr = fs_getattr, .readdir = fs_readdir, .mkdir = fs_mkdir, .rmdir = fs_rmdir,
    .unlink = fs_unlink, .rename = fs_rename, .link = fs_link, .symlink = fs_symlink,
    .readlink = fs_readlink, .chmod = fs_chmod, .chown = fs_chown, .utimens = fs_utimens,
    .truncate = fs_truncate, .fallocate = fs_fallocate, .open = fs_open, .create = fs_create,
    .read = fs_read, .write = fs_write, .fsync = fs_fsync, .fsyncdir = fs_fsyncdir, .release = fs_release, .statfs = fs_statfs,
};

int main(int count, char *args[]) {
  if (count != 4) return 2;
  live = open(args[1], O_RDONLY | O_DIRECTORY);
  durable = open(args[2], O_RDONLY | O_DIRECTORY);
  mountpoint = args[3];
  if (live < 0 || durable < 0) return 1;
  umask(0);
  pthread_t commands;
  if (pthread_create(&commands, NULL, run_commands, NULL)) return 1;
  char *options[] = {args[0], "-f", "-s", "-o", "allow_other,default_permissions", args[3], NULL};
  return fuse_main(6, options, &OPERATIONS, NULL);
}
