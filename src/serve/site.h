/* serve/site.h - what `numalens view` serves of a recording: the page, its data, and windows into the whole trace. */
#pragma once

#include "page/page.h"
#include "serve/server.h"

struct site;

/* Makes page and data at once. Keeps using `run`. NULL with `err`. */
struct site *site_new(const struct page_run *run, struct error *err);
void site_free(struct site *site);

/* For server_run, with the site as its context. */
void site_answer(void *context, const char *path, const struct request *request, struct answer *answer);
