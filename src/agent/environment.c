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

const char *environment_value(char *const *environment, const char *name)
{
    const char *value = NULL;
    for (; environment && *environment && !value; environment++)
        value = value_of(*environment, name);
    return value;
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
    const char *at = environment_value(environment, WIRE_ENVIRONMENT);
    return at && number(&at, ':', &found->pid) && number(&at, ':', &found->fd) && number(&at, ':', &found->nonce) &&
           number(&at, '\0', &found->filters);
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

/* Where this library was loaded from; "" when that is not known. Written before main, by the only thread there is. */
static char own_path[1024];

void environment_note(char *const *environment)
{
    for (; *environment; environment++) {
        const char *at = value_of(*environment, "LD_PRELOAD");
        while (at && *at) {
            size_t length = strcspn(at, " :");
            if (names_library(at, length) && length < sizeof own_path) {
                memcpy(own_path, at, length);
                own_path[length] = '\0';
                return;
            }
            at += length + (at[length] != '\0');
        }
    }
}

static bool names_agent(const char *list)
{
    while (*list) {
        size_t length = strcspn(list, " :");
        if (names_library(list, length))
            return true;
        list += length + (list[length] != '\0');
    }
    return false;
}

enum environment_preload environment_preload(char *const *environment)
{
    const char *list = environment_value(environment, "LD_PRELOAD");
    if (!environment_value(environment, WIRE_ENVIRONMENT) || (list && names_agent(list)))
        return PRELOAD_AGENT;
    return list && list[strspn(list, " :")] ? PRELOAD_OTHERS : PRELOAD_NOTHING;
}

size_t environment_room(char *const *environment)
{
    size_t bytes = sizeof *environment;
    if (!*own_path)
        return 0;
    for (; *environment; environment++) {
        bytes += sizeof *environment;
        if (value_of(*environment, "LD_PRELOAD"))
            bytes += strlen(*environment) + strlen(own_path) + 2;
    }
    return bytes;
}

char *const *environment_put_back(char *const *environment, void *room)
{
    char **copy = room, *text;
    size_t count = 0;
    while (environment[count])
        count++;
    text = (char *)(copy + count + 1);
    for (size_t i = 0; i <= count; i++) {
        const char *list = environment[i] ? value_of(environment[i], "LD_PRELOAD") : NULL;
        copy[i] = list ? text : environment[i];
        if (!list)
            continue;
        text = stpcpy(stpcpy(text, "LD_PRELOAD="), own_path);
        *text++ = ':';
        text = stpcpy(text, list) + 1;
    }
    return copy;
}
