#!/usr/bin/env python3
"""Writes the assembly that embeds the built page: embed.py OUTPUT [PAGE]. Without a page what it embeds is empty."""
import os
import sys

TEXT = """/* Made by src/page/embed.py. */
    .section .rodata
    .global page_template
    .global page_template_size
    .balign 8
page_template_size:
    .quad page_template_end - page_template
page_template:
%s
page_template_end:
    .byte 0
    .section .note.GNU-stack, "", %%progbits
"""


def main():
    page = os.path.abspath(sys.argv[2]).replace("\\", "\\\\").replace('"', '\\"') if len(sys.argv) > 2 else None
    with open(sys.argv[1], "w") as stream:
        stream.write(TEXT % ('    .incbin "%s"' % page if page else ""))


main()
