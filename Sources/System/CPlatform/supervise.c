/* The supervisor of one program: see cplatform_supervise in cplatform.h. It runs in its own process, which has one thread. */
#define _GNU_SOURCE
#include "cplatform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The order to start a program. `words` holds the path of the program, its arguments and its environment. */
struct order {
  struct cplatform_order head;
  char *bytes;
  char **words;
};

static void report(int control, int32_t kind, int32_t value) {
  struct cplatform_report one = {kind, value};
  /* If the parent is gone, it needs no report. The next read shows that it is gone. */
  while (send(control, &one, sizeof one, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

static int read_all(int from, void *to, size_t size) {
  for (size_t at = 0; at < size;) {
    ssize_t count = read(from, (char *)to + at, size - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    at += (size_t)count;
  }
  return 1;
}

static int read_order(int control, struct order *order) {
  struct cplatform_order *head = &order->head;
  if (!read_all(control, head, sizeof *head) || head->magic != CPLATFORM_ORDER) return 0;
  if (head->size < 1 || head->arguments < 1 || head->size > 64 << 20) return 0;
  /* Each text ends with a zero byte, so there are at most as many texts as bytes. */
  size_t count = 1 + (size_t)head->arguments + head->variables;
  if (count > head->size) return 0;
  order->bytes = malloc(head->size);
  order->words = calloc(count + 2, sizeof(char *));
  if (!order->bytes || !order->words || !read_all(control, order->bytes, head->size)) return 0;
  if (order->bytes[head->size - 1] != 0) return 0;
  /* `words` gets the path, the arguments and a NULL, the environment and a NULL. */
  size_t at = 0, place = 0;
  for (size_t index = 0; index < count; index++) {
    if (at >= head->size) return 0;
    if (index == 1 + (size_t)head->arguments) place++;
    order->words[place++] = order->bytes + at;
    at += strlen(order->bytes + at) + 1;
  }
  return at == head->size;
}

/* Runs the program in the forked child. Never returns. */
static void become(const struct order *order, pid_t parent, int failure) {
  /* The kernel sends this signal when the thread that forked ends. The supervisor has only that thread. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (order->head.memory) {
    struct rlimit limit = {order->head.memory, order->head.memory};
    setrlimit(RLIMIT_AS, &limit);
  }
  char **arguments = order->words + 1;
  execve(order->words[0], arguments, arguments + order->head.arguments + 1);
  int error = errno;
  while (write(failure, &error, sizeof error) < 0 && errno == EINTR) {}
  _exit(127);
}

/* Reaps the children that have ended. Returns 0 if no child is left. */
static int reap(int control, pid_t program) {
  for (;;) {
    int status = 0;
    pid_t one = waitpid(-1, &status, WNOHANG);
    if (one == 0) return 1;
    if (one < 0 && errno == EINTR) continue;
    if (one < 0) return 0;
    if (one == program) report(control, CPLATFORM_ENDED, status);
  }
}

/* Kills each child. The children of a killed child become children of this process, since it is their subreaper. Returns 0 if the children
   cannot be listed. */
static int kill_children(void) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/task/%d/children", (int)getpid());
  FILE *list = fopen(name, "re");
  if (!list) return 0;
  for (int child; fscanf(list, "%d", &child) == 1;) kill(child, SIGKILL);
  fclose(list);
  return 1;
}

static void end_everything(int control, pid_t program, int ends) {
  struct pollfd ready = {ends, POLLIN, 0};
  for (int round = 0; reap(control, program); round++) {
    /* If a program forks faster than its children are killed, or the system does not list the children, kill the whole group at once. That
       includes this process. */
    if (round == 200 || !kill_children()) kill(0, SIGKILL);
    struct signalfd_siginfo one;
    if (poll(&ready, 1, 100) > 0) while (read(ends, &one, sizeof one) > 0) {}
  }
}

int cplatform_supervise(int control) {
  struct order order = {0};
  fcntl(control, F_SETFD, FD_CLOEXEC);
  for (int number = 1; number < NSIG; number++)
    if (number != SIGCHLD) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_NAME, "supervisor");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, NULL);
  int failure[2], error = 0;
  if (!read_order(control, &order)) return -1;
  int ends = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (ends < 0 || pipe2(failure, O_CLOEXEC) != 0) {
    report(control, CPLATFORM_FAILED, errno);
    return 0;
  }
  pid_t parent = getpid(), program = fork();
  if (program == 0) become(&order, parent, failure[1]);
  if (program < 0) error = errno;
  close(failure[1]);
  /* The pipe closes when the program starts to run. If it cannot start, the child writes the error first. */
  if (program > 0 && !read_all(failure[0], &error, sizeof error)) error = 0;
  close(failure[0]);
  if (error) {
    report(control, CPLATFORM_FAILED, error);
    return 0;
  }
  /* The pipes belong to the program. The supervisor closes its own copies, so that they end when the program ends. */
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int number = 0; number < control; number++) {
    if (number < 3 && nowhere >= 0) dup2(nowhere, number);
    else close(number);
  }
  report(control, CPLATFORM_STARTED, program);

  struct pollfd ready[2] = {{control, POLLIN, 0}, {ends, POLLIN, 0}};
  for (;;) {
    if (poll(ready, 2, -1) < 0) continue;
    if (ready[1].revents) {
      struct signalfd_siginfo one;
      while (read(ends, &one, sizeof one) > 0) {}
      if (!reap(control, program)) return 0;
    }
    if (ready[0].revents) {
      char word = 0;
      ssize_t count = read(control, &word, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      if (word == CPLATFORM_TERMINATE) kill(0, SIGTERM);
    }
  }
  end_everything(control, program, ends);
  return 0;
}
