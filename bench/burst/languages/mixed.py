# mixed.py - integers, floating point, strings, dictionaries, exceptions, JSON: one line that depends on every result.
import hashlib
import json
import math
import random
import sys

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
random.seed(5)
digest = hashlib.sha256()


def depth(left):
    return 1 + depth(left - 1) if left else int("bottom")


for turn in range(rounds):
    numbers = sorted(random.getrandbits(31) for _ in range(5000))
    counts = {}
    for i in range(5000):
        counts["k%d" % (i % 997)] = counts.get("k%d" % (i % 997), 0) + i
    roots = [math.sqrt(i) * math.sin(turn + i) / (i + 1) for i in range(10000)]
    try:
        depth(50)
    except ValueError as error:
        digest.update(str(error).encode())
    digest.update(json.dumps([numbers, counts, sum(roots).hex(), 3 ** (200 + turn)]).encode())
print(digest.hexdigest())
