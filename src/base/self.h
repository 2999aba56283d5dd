/* base/self.h - files that belong to this program, found from where the program itself lies. */
#ifndef NUMALENS_BASE_SELF_H
#define NUMALENS_BASE_SELF_H

/* `path`, relative to this program's folder, made absolute; the caller frees it. NULL when it is not there. */
char *self_find(const char *path);

#endif
