/* A library that is no policy. */
int nothing_to_see(void);

int nothing_to_see(void)
{
    return 0;
}
