/* page/page_write.c - the page with its data in it: written to a file, or to be served. */
#include "base/mem.h"
#include "base/replace.h"
#include "page/encode.h"
#include "page/page.h"
#include "page/parts/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 2, PAGE_BYTES = 8000000 };

static const char marker[] = "<!--numalens-data-->";

/* Out of embed.py: the file that web/ builds, or nothing. */
extern const char page_template[];
extern const uint64_t page_template_size;

struct template
{
    const char *before, *after; /* the marker */
    size_t before_size, after_size;
};

static int template_find(struct template *template, struct error *err)
{
    *template = (struct template){0};
    const char *at = memmem(page_template, page_template_size, marker, sizeof marker - 1);
    if (!at)
        return error_set(err, -ENOTSUP,
                         "this numalens was built without the page; install nodejs and npm and build again");
    template->before = page_template;
    template->before_size = (size_t)(at - page_template);
    template->after = at + sizeof marker - 1;
    template->after_size = page_template_size - template->before_size - (sizeof marker - 1);
    return 0;
}

int page_is_missing(struct error *err)
{
    struct template template;
    return template_find(&template, err);
}

struct filled {
    struct template template;
    struct container_bytes runs[MOST_RUNS];
    unsigned count;
};

static int fill(FILE *out, const void *context, struct error *err)
{
    (void)err;
    const struct filled *filled = context;
    fwrite(filled->template.before, 1, filled->template.before_size, out);
    for (unsigned i = 0; i < filled->count; i++) {
        fputs("<script type=\"text/plain\" class=\"numalens-data\" data-encoding=\"deflate\">", out);
        encode_base64(&filled->runs[i], out);
        fputs("</script>", out);
    }
    fwrite(filled->template.after, 1, filled->template.after_size, out);
    return 0;
}

int page_write(const char *path, const struct page_run *runs, unsigned count, struct error *err)
{
    struct filled filled = {.count = count};
    struct comparison comparison = {0};
    int failed = count > MOST_RUNS ? error_set(err, -E2BIG, "a page holds two runs at most")
                                   : template_find(&filled.template, err);
    size_t room = PAGE_BYTES - filled.template.before_size - filled.template.after_size;
    for (unsigned i = 0; failed == 0 && i < count; i++) {
        struct page_run run = runs[i];
        run.comparison = count > 1 ? &comparison : NULL;
        failed = page_packed(&run, room / count, &filled.runs[i], err);
    }
    if (failed == 0)
        failed = replace_file(path, REPLACE_FOR_OWNER, fill, &filled, err);
    for (unsigned i = 0; i < MOST_RUNS; i++)
        free(filled.runs[i].data);
    comparison_free(&comparison);
    return failed;
}

int page_served(unsigned runs, struct container_bytes *bytes, struct error *err)
{
    struct template template;
    char *text = NULL;
    int failed = template_find(&template, err);
    if (failed)
        return failed;
    FILE *out = open_memstream(&text, &bytes->size);
    if (!out)
        return error_set(err, -errno, "cannot make the page: %s", strerror(errno));
    fwrite(template.before, 1, template.before_size, out);
    for (unsigned i = 0; i < runs; i++)
        fprintf(out, "<script type=\"text/plain\" class=\"numalens-data\" data-href=\"data?run=%u\"></script>", i);
    fwrite(template.after, 1, template.after_size, out);
    failed = fclose(out) == 0 ? 0 : error_set(err, -errno, "cannot make the page: %s", strerror(errno));
    bytes->data = (uint8_t *)text;
    return failed;
}
