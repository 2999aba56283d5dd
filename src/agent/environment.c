#include "agent/environment.h"

#include "wire/region.h"

#include <string.h>

#define LIBRARY "libnumalens-agent.so"

/* The value of `name=`, or NULL. */
static char *value_of(char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static bool number(const char **at, char stop, uint64_t *value)
{
    const char *begin = *at;
    *value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, **at - '0', value))
            return false;
    }
    if (*at == begin || **at != stop)
        return false;
    ++*at;
    return true;
}

bool environment_read(char *const *environment, struct environment_region *found)
{
    for (; *environment; environment++) {
        const char *at = value_of(*environment, WIRE_ENVIRONMENT);
        if (at)
            return number(&at, ':', &found->pid) && number(&at, ':', &found->fd) && number(&at, '\0', &found->nonce);
    }
    return false;
}

static bool names_library(const char *entry, size_t length)
{
    size_t name = strlen(LIBRARY);
    return length >= name && memcmp(entry + length - name, LIBRARY, name) == 0 &&
           (length == name || entry[length - name - 1] == '/');
}

/* Takes our entry out of a list that the dynamic linker splits at blanks and colons. True when something is left. */
static bool strip_list(char *list)
{
    char *at = list;
    while (*at) {
        size_t length = strcspn(at, " :");
        if (!names_library(at, length)) {
            at += length + (at[length] != '\0');
            continue;
        }
        char *rest = at + length + (at[length] != '\0');
        memmove(at, rest, strlen(rest) + 1);
        if (!*at && at > list)
            at[-1] = '\0'; /* the separator before the last entry */
    }
    return *list != '\0';
}

void environment_strip(char **environment)
{
    char **to = environment;
    for (char **from = environment; *from; from++) {
        char *preload = value_of(*from, "LD_PRELOAD");
        if (value_of(*from, WIRE_ENVIRONMENT) || (preload && strstr(preload, LIBRARY) && !strip_list(preload)))
            continue;
        *to++ = *from;
    }
    *to = NULL;
}
