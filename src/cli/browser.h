/* cli/browser.h - opens an address in the user's browser, where there is one. */
#pragma once

struct browser;

/* Without a display, or without xdg-open: NULL, and nothing happens. The address has a secret in it that others on this
 * machine could read among a program's arguments: so the browser is given a file, for the user's eyes only, that leads there. */
struct browser *browser_open(const char *address);
void browser_close(struct browser *browser); /* removes the file */
