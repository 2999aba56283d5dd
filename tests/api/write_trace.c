/* write_trace.c - leaves the made-up trace as a file, for clients: write_trace FILE */
#include "made_up.h"

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    made_up_write(NULL);
    return rename(made_up_path, argv[1]) ? 1 : 0;
}
