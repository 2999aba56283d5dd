/* executor/script_frames.c - see executor/script_frames.h. The frames are walked where they have changed: the innermost is another, or at another instruction. */
#include "executor/script_frames.h"

#include "executor/pages.h"

static uint64_t frame, instruction; /* of the last chain */
static uint8_t chain;               /* its number */

static bool read_copy(void *context, uint64_t from, void *to, size_t bytes)
{
    (void)context;
    if (!pages_have(from, bytes))
        return false;
    memcpy(to, (const void *)from, bytes);
    return true;
}

static const struct python_reader copies = {.read = read_copy};

void script_frames_begin(struct executor_job *job)
{
    frame = instruction = 0;
    chain = 0;
    job->chains.count = 0;
    if (job->python_state && python_word(&copies, job->python_state + job->python.native_id) != job->python_tid)
        job->python_state = 0; /* it has ended: others have its memory */
}

static uint8_t add_chain(struct executor_job *job)
{
    struct python_frame frames[PYTHON_FRAMES];
    if (job->chains.count >= EXECUTOR_CHAINS)
        return 0;
    struct executor_chain *to = &job->chains.items[job->chains.count];
    to->depth = python_chain_of(&job->python, &copies, frame, frames);
    for (uint32_t i = 0; i < to->depth; i++)
        to->frames[i] = (struct executor_frame){frames[i].code, frames[i].instruction, frames[i].entry};
    return (uint8_t)++job->chains.count;
}

void script_frames_note(struct executor_job *job, uint32_t number)
{
    uint64_t innermost = job->python_state ? python_innermost(&job->python, &copies, job->python_state) : 0;
    uint64_t at = innermost ? python_word(&copies, innermost + job->python.instruction) : 0;
    if (innermost != frame || at != instruction) {
        frame = innermost;
        instruction = at;
        chain = innermost ? add_chain(job) : 0;
    }
    job->chains.of[number] = chain;
}
