/* page/parts/frame_table.h - call chains as the page has them: each frame and each chain once, by number. Private to src/page. */
#pragma once

#include "base/json.h"
#include "flow/flow.h"

enum { FRAMES_DEPTH = 256 }; /* what is further out is cut */

struct frames;

struct frames *frames_new(const struct flow *flow);
void frames_free(struct frames *frames);

uint32_t frames_add(struct frames *frames, const struct flow_frame *frame);

/* A chain's number in "stacks", or FLOW_NONE when nothing is known of it. */
uint32_t frames_add_stack(struct frames *frames, uint32_t process, uint32_t stack);

/* "stacks" and "frames", when nothing more is added. */
void frames_put(const struct frames *frames, struct json *json);
