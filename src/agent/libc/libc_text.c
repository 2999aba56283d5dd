/* agent/libc/libc_text.c - bytes, texts and sets of signals: what computes and asks nobody, under libc's names and for the agent
 * alone (libc_find.h). Texts and records are short here. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWN __attribute__((visibility("hidden")))

OWN void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    char *out = to;
    const char *in = from;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), out += sizeof(uint64_t), in += sizeof(uint64_t))
        __builtin_memcpy(out, in, sizeof(uint64_t));
    while (size--)
        *out++ = *in++;
    return to;
}

OWN void *memmove(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= size)
        return memcpy(to, from, size);
    while (size--)
        out[size] = in[size];
    return to;
}

OWN void *memset(void *to, int byte, size_t size)
{
    char *out = to;
    uint64_t word = (uint8_t)byte * 0x0101010101010101u;
    for (; size >= sizeof word; size -= sizeof word, out += sizeof word)
        __builtin_memcpy(out, &word, sizeof word);
    while (size--)
        *out++ = (char)byte;
    return to;
}

OWN int memcmp(const void *one, const void *other, size_t size)
{
    const uint8_t *a = one, *b = other;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            return a[i] - b[i];
    return 0;
}

OWN void *memchr(const void *bytes, int byte, size_t size)
{
    const uint8_t *in = bytes;
    for (size_t i = 0; i < size; i++)
        if (in[i] == (uint8_t)byte)
            return (void *)(in + i);
    return NULL;
}

OWN size_t strnlen(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length])
        length++;
    return length;
}

OWN size_t strlen(const char *text)
{
    return strnlen(text, SIZE_MAX);
}

OWN int strncmp(const char *one, const char *other, size_t most)
{
    for (size_t i = 0; i < most; i++)
        if (one[i] != other[i] || !one[i])
            return (uint8_t)one[i] - (uint8_t)other[i];
    return 0;
}

OWN int strcmp(const char *one, const char *other)
{
    return strncmp(one, other, SIZE_MAX);
}

OWN char *strchr(const char *text, int character)
{
    for (; *text != (char)character; text++)
        if (!*text)
            return NULL;
    return (char *)text;
}

OWN char *strrchr(const char *text, int character)
{
    const char *last = NULL;
    for (;; text++) {
        if (*text == (char)character)
            last = text;
        if (!*text)
            return (char *)last;
    }
}

OWN char *stpcpy(char *restrict to, const char *restrict from)
{
    while ((*to = *from++))
        to++;
    return to;
}

OWN size_t strspn(const char *text, const char *accepted)
{
    size_t length = 0;
    while (text[length] && strchr(accepted, text[length]))
        length++;
    return length;
}

OWN size_t strcspn(const char *text, const char *refused)
{
    size_t length = 0;
    while (text[length] && !strchr(refused, text[length]))
        length++;
    return length;
}

OWN char *strstr(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text || !length; text++)
        if (strncmp(text, part, length) == 0)
            return (char *)text;
    return NULL;
}

static int bit_of(int signal, uint64_t *bit)
{
    *bit = (uint64_t)1 << ((unsigned)signal - 1) % 64;
    return signal >= 1 && signal < NSIG;
}

/* The kernel knows 64 signals; libc's sets have room for more, which is never looked at. */
static uint64_t *word_of(const sigset_t *set)
{
    return (uint64_t *)(void *)set;
}

OWN int sigemptyset(sigset_t *set)
{
    memset(set, 0, sizeof *set);
    return 0;
}

/* Without the two that libc keeps for itself (SIGCANCEL and SIGSETXID). */
OWN int sigfillset(sigset_t *set)
{
    memset(set, 0xff, sizeof *set);
    *word_of(set) &= ~((uint64_t)3 << 31);
    return 0;
}

OWN int sigaddset(sigset_t *set, int signal)
{
    uint64_t bit;
    if (!bit_of(signal, &bit))
        return -1;
    *word_of(set) |= bit;
    return 0;
}

OWN int sigdelset(sigset_t *set, int signal)
{
    uint64_t bit;
    if (!bit_of(signal, &bit))
        return -1;
    *word_of(set) &= ~bit;
    return 0;
}

OWN int sigismember(const sigset_t *set, int signal)
{
    uint64_t bit;
    return bit_of(signal, &bit) ? (*word_of(set) & bit) != 0 : -1;
}
