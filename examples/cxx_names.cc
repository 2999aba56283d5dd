// cxx_names.cc - C++ objects that only the source and debug information can name: two vectors of one constructor, a container of
// the program's own, a buffer that a call fills.
// Truth: World::particles and World::cells are made on one line and are two objects, `scratch` is a Block<double>, `report` and
// `notes` are what buffer_make fills, not its status. With --fixed the particles are Swarm::grains instead, made by the threads that use them;
// everything else is the same.
#include "example.h"

#include <memory>
#include <vector>

enum { THREADS = 4, CELLS = 8 };

struct Particle {
    double x, v[7];
};

struct Cell {
    long count;
};

template <class T> class Block {
  public:
    explicit Block(size_t count) : items_(new T[count]())
    {
    }
    ~Block()
    {
        delete[] items_;
    }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    T *items()
    {
        return items_;
    }

  private:
    T *items_;
};

struct Buffer {
    char *text;
    size_t size;
};

__attribute__((noinline)) static int buffer_make(Buffer *buffer, size_t size)
{
    buffer->text = static_cast<char *>(calloc(size, 1));
    buffer->size = size;
    return buffer->text ? 0 : -1;
}

struct World {
    std::vector<Particle> particles;
    std::vector<Cell> cells;
    explicit World(size_t count);
};

World::World(size_t count) : particles(count), cells(count / CELLS) /* site: world */
{
}

struct Swarm {
    std::unique_ptr<Particle[]> grains;
    std::vector<Cell> cells;
    explicit Swarm(size_t count) : cells(count / CELLS)
    {
        grains.reset(static_cast<Particle *>(operator new[](count * sizeof(Particle)))); /* site: swarm */
    }
};

__attribute__((noinline)) static void sweep(Particle *particles, Cell *cells, double *scratch, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        volatile double *x = &particles[i].x;
        *x = *x + particles[i].v[3];
        cells[i / CELLS].count += *x > 0;
        scratch[i] = *x;
    }
}

__attribute__((noinline)) static void scribble(const Buffer *buffer, long rounds)
{
    volatile char *text = buffer->text;
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < buffer->size; i++)
            text[i] = static_cast<char>(i + static_cast<size_t>(round));
}

struct part {
    size_t from, to;
    long rounds;
    Particle *particles;
    Cell *cells;
    double *scratch;
    bool fill;
};

static void *run_part(void *context)
{
    const part *own = static_cast<part *>(context);
    if (own->fill)
        memset(static_cast<void *>(own->particles + own->from), 0, (own->to - own->from) * sizeof(Particle));
    for (long round = 0; round < own->rounds; round++)
        sweep(own->particles, own->cells, own->scratch, own->from, own->to);
    return NULL;
}

static void each_part(size_t count, long rounds, Particle *particles, Cell *cells, double *scratch, bool fill)
{
    pthread_t threads[THREADS];
    part parts[THREADS];
    for (size_t t = 0; t < THREADS; t++) {
        parts[t] = {count * t / THREADS, count * (t + 1) / THREADS, rounds, particles, cells, scratch, fill};
        example_need(pthread_create(&threads[t], NULL, run_part, &parts[t]) == 0, "pthread_create");
    }
    for (pthread_t thread : threads)
        pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 600);
    size_t count = 1 << 18;
    Buffer report, notes;
    int status = buffer_make(&report, 1 << 16); /* site: report */
    example_need(status == 0, "calloc");
    status = buffer_make(&notes, 1 << 16);
    example_need(status == 0, "calloc");
    Block<double> scratch(count); /* site: scratch */
    if (example_flag(argc, argv, "fixed")) {
        Swarm swarm(count);
        each_part(count, rounds, swarm.grains.get(), swarm.cells.data(), scratch.items(), true);
    } else {
        World world(count);
        each_part(count, rounds, world.particles.data(), world.cells.data(), scratch.items(), false);
    }
    scribble(&report, rounds);
    scribble(&notes, rounds);
    snprintf(report.text, report.size, "%g\n", scratch.items()[0]);
    fputs(report.text, stdout);
    free(report.text);
    free(notes.text);
    return 0;
}
