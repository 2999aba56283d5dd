/* shape.c - a matrix walked by rows, by columns, or without order.
 *
 * sequential: each access is 8 bytes behind the one before.
 * strided: each access is a row, 4160 bytes, behind the one before.
 * random: each access is anywhere. */
#include "team.h"

enum { ROWS = 1024, COLUMNS = 520 };

static long (*matrix)[COLUMNS];

__attribute__((noinline)) static long by_rows(volatile long (*cells)[COLUMNS])
{
    long total = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            total += cells[row][column];
    return total;
}

__attribute__((noinline)) static long by_columns(volatile long (*cells)[COLUMNS])
{
    long total = 0;
    for (size_t column = 0; column < COLUMNS; column++)
        for (size_t row = 0; row < ROWS; row++)
            total += cells[row][column];
    return total;
}

__attribute__((noinline)) static long by_chance(volatile long (*cells)[COLUMNS], uint64_t seed)
{
    long total = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS / 8; i++) {
        uint64_t random = team_random(&seed);
        total += cells[random % ROWS][(random >> 32) % 512];
    }
    return total;
}

static long work(size_t number)
{
    long total = 0;
    for (long round = 0; round < team.rounds; round++)
        total += team_mode("sequential") ? by_rows(matrix)
                 : team_mode("strided")  ? by_columns(matrix)
                                         : by_chance(matrix, number + (size_t)round * TEAM_MAX);
    return total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "sequential|strided|random", 200);
    matrix = malloc(ROWS * sizeof *matrix); /* site: matrix */
    example_need(matrix, "malloc");
    team_fill(matrix[0], (size_t)ROWS * COLUMNS);
    team_run(work);
    free(matrix);
    return 0;
}
