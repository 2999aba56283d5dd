/* base/number_list.h - lists of numbers as the kernel writes them: "0-15,32". */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Calls see() for each number. False when the text is no list, or has a number that is not below `end`. */
static inline bool number_list_each(const char *text, uint32_t end, void (*see)(void *context, uint32_t number),
                                    void *context)
{
    while (*text && *text != '\n') {
        char *behind;
        unsigned long first = strtoul(text, &behind, 10), last = first;
        if (behind == text)
            return false;
        if (*behind == '-') {
            text = behind + 1;
            last = strtoul(text, &behind, 10);
        }
        if (behind == text || last < first || last >= end || (*behind && *behind != ',' && *behind != '\n'))
            return false;
        for (unsigned long number = first; number <= last; number++)
            see(context, (uint32_t)number);
        text = *behind == ',' ? behind + 1 : behind;
    }
    return true;
}
