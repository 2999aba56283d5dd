/* self_inspect.c - a program that looks at itself: its open descriptors, its environment, its threads, its own map.
 * Truth: no descriptor but the standard ones (and the folder being read), one thread, and the environment it was given;
 * the variables that carry the profiler to child programs are not printed. */
#include "../example.h"

#include <dirent.h>
#include <unistd.h>

extern char **environ;

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    example_need(folder, "opendir");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int main(void)
{
    DIR *folder = opendir("/proc/self/fd");
    example_need(folder, "opendir");
    for (struct dirent *entry; (entry = readdir(folder));) {
        int number = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && number > 2 && number != dirfd(folder))
            printf("descriptor %d\n", number);
    }
    closedir(folder);
    printf("threads %d\n", entries("/proc/self/task"));
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, "LD_PRELOAD=", 11) && strncmp(*variable, "NUMALENS_", 9))
            puts(*variable);
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    example_need(maps, "fopen");
    char *line = NULL;
    size_t room = 0;
    int own = 0;
    while (getline(&line, &room, maps) > 0)
        own += strstr(line, "self_inspect") != NULL;
    printf("mapped: %s\n", own > 0 ? "yes" : "no");
    free(line);
    fclose(maps);
    return 0;
}
