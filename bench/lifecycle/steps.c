/* steps.c - how many instructions a thread of another process takes from one visit of an address to the next, by stepping it.
 *
 *   steps TID ADDRESS VISITS FROM TO
 *
 * Prints the instructions a visit, and those of them in [FROM, TO): of a library. Numbers are hexadecimal but for TID and VISITS. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    enum { FIRST = 20 }; /* visits that are not counted */
    if (argc != 6)
        return 2;
    pid_t thread = atoi(argv[1]);
    unsigned long mark = strtoul(argv[2], NULL, 16), from = strtoul(argv[4], NULL, 16), to = strtoul(argv[5], NULL, 16);
    long wanted = atol(argv[3]), steps = 0, inside = 0, visits = 0;
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
        waitpid(thread, &status, __WALL) < 0) {
        perror("steps: cannot stop the thread");
        return 1;
    }
    while (visits < FIRST + wanted) {
        struct user_regs_struct regs;
        if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) != 0 || waitpid(thread, &status, __WALL) < 0 ||
            !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, thread, NULL, &regs) != 0) {
            perror("steps: the thread has ended");
            return 1;
        }
        if (visits >= FIRST) {
            steps++;
            inside += regs.rip >= from && regs.rip < to;
        }
        visits += regs.rip == mark;
    }
    printf("%.1f %.1f\n", (double)steps / (double)wanted, (double)inside / (double)wanted);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    return 0;
}
