/* isa/x86_64/branches.c - branches, calls and returns on the program's registers. Runs in bursts. */
#include "isa/x86_64/engine.h"
#include "isa/x86_64/guard.h"

static bool condition_holds(uint64_t flags, unsigned condition)
{
    bool carry = flags & FLAG_CARRY, zero = flags & FLAG_ZERO, sign = flags & FLAG_SIGN;
    bool overflow = flags & FLAG_OVERFLOW, holds;
    switch (condition >> 1) {
    case 0:
        holds = overflow;
        break;
    case 1:
        holds = carry;
        break;
    case 2:
        holds = zero;
        break;
    case 3:
        holds = carry || zero;
        break;
    case 4:
        holds = sign;
        break;
    case 5:
        holds = flags & FLAG_PARITY;
        break;
    case 6:
        holds = sign != overflow;
        break;
    default:
        holds = zero || sign != overflow;
        break;
    }
    return holds != (condition & 1);
}

/* The address that an indirect branch reads its target from: its operand, which the decoder puts first. */
static bool load_target(struct engine *engine, const struct block *block, uint64_t *target)
{
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    return decode_accesses(&block->first, &engine->registers, accesses) > 0 && guard_load(accesses[0].addr, target);
}

static bool call(struct engine *engine, const struct block *block, uint64_t target)
{
    uint64_t *sp = &engine->registers.general[DECODE_RSP];
    if (!guard_store(*sp - 8, block->next))
        return false;
    *sp -= 8;
    engine->registers.rip = target;
    return true;
}

bool branch_take(struct engine *engine, const struct block *block)
{
    const struct outline *branch = &block->last;
    uint64_t *general = engine->registers.general, *rip = &engine->registers.rip, target;
    bool taken = true;
    switch (branch->branch) {
    case BRANCH_NONE:
        taken = false;
        break;
    case BRANCH_CONDITION:
        taken = condition_holds(engine->flags, branch->condition);
        break;
    case BRANCH_JUMP:
        break;
    case BRANCH_JUMP_REGISTER:
        *rip = general[branch->reg];
        return true;
    case BRANCH_JUMP_MEMORY:
        if (!load_target(engine, block, &target))
            return false;
        *rip = target;
        return true;
    case BRANCH_CALL:
        return call(engine, block, branch->target);
    case BRANCH_CALL_REGISTER:
        return call(engine, block, general[branch->reg]);
    case BRANCH_CALL_MEMORY:
        return load_target(engine, block, &target) && call(engine, block, target);
    case BRANCH_RETURN:
        if (!guard_load(general[DECODE_RSP], &target))
            return false;
        general[DECODE_RSP] += 8u + branch->pop;
        *rip = target;
        return true;
    case BRANCH_LOOP:
        taken = --general[DECODE_RCX] != 0;
        break;
    case BRANCH_LOOP_EQUAL:
        taken = --general[DECODE_RCX] != 0 && engine->flags & FLAG_ZERO;
        break;
    case BRANCH_LOOP_UNEQUAL:
        taken = --general[DECODE_RCX] != 0 && !(engine->flags & FLAG_ZERO);
        break;
    case BRANCH_COUNTER_ZERO:
        taken = general[DECODE_RCX] == 0;
        break;
    default:
        return false;
    }
    *rip = taken ? branch->target : block->next;
    return true;
}
