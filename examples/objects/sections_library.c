/* sections_library.c - a function that touches no memory. */
long in_library(void);

long in_library(void)
{
    return 1;
}
