/* fork_loading.c - forks while another thread opens a library that is loaded already; the children ask what is loaded and allocate.
 * Truth: all children end by themselves: nothing of the C library's that such a call holds is missing in a child. */
#include "../example.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 300, PATIENCE = 60 /* seconds until a child is taken for one that waits for ever */ };

static volatile bool stop;

static void *open_again(void *path)
{
    while (!stop) {
        void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        example_need(library != NULL, "dlopen");
        dlclose(library);
    }
    return NULL;
}

static int count(struct dl_phdr_info *info, size_t size, void *counted)
{
    (void)info;
    (void)size;
    ++*(int *)counted;
    return 0;
}

int main(void)
{
    Dl_info libc;
    example_need(dladdr((void *)printf, &libc) != 0, "dladdr");
    pthread_t opener = example_thread(open_again, (void *)libc.dli_fname);
    int good = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        example_need(child >= 0, "fork");
        if (child == 0) {
            int libraries = 0;
            alarm(PATIENCE);
            char *volatile block = malloc(100);
            dl_iterate_phdr(count, &libraries);
            _exit(block && libraries > 1 ? 7 : 1);
        }
        int status;
        example_need(waitpid(child, &status, 0) == child, "waitpid");
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        if (WIFSIGNALED(status))
            break;
    }
    stop = true;
    pthread_join(opener, NULL);
    printf("good children %d\n", good);
    return good == CHILDREN ? 0 : 1;
}
