"""The figures of bench/faults as one picture."""
WIDTH, HEIGHT = 300, 200
BLUE, ORANGE, GREEN, GREY = "#3572b0", "#c9792b", "#4a9a5b", "#777777"
GOAL = 1.10


def text(x, y, words, anchor="middle", size=12, rotate=None):
    turn = ' transform="rotate(%d %g %g)"' % (rotate, x, y) if rotate else ""
    return '<text x="%g" y="%g" font-size="%d" text-anchor="%s"%s>%s</text>' % (x, y, size, anchor, turn, words)


def label_of(value, most):
    return "%.2f" % value if most < 10 else "%d" % value if most < 10000 else "%dk" % (value / 1000)


def plot(left, top, title, x_label, y_label, places, series, least, most, goal=None):
    """One chart. series: [(colour, name, {place: value})], bars side by side from `least` on."""
    parts = [text(left + WIDTH / 2, top - 14, title, size=14), text(left + WIDTH / 2, top + HEIGHT + 36, x_label),
             text(left - 52, top + HEIGHT / 2, y_label, rotate=-90),
             '<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#888"/>' % (left, top, WIDTH, HEIGHT)]

    def y_of(value):
        return top + HEIGHT * (1 - (min(max(value, least), most) - least) / (most - least))
    for tick in range(6):
        value = least + (most - least) * tick / 5
        parts += ['<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#ddd"/>' % (left, y_of(value), left + WIDTH, y_of(value)),
                  text(left - 6, y_of(value) + 4, label_of(value, most), "end", 11)]
    at = {place: left + WIDTH * (index + 0.5) / len(places) for index, place in enumerate(places)}
    wide = min(18, 0.8 * WIDTH / len(places) / len(series))
    for number, (colour, name, values) in enumerate(series):
        for place, value in values.items():
            x = at[place] + wide * (number - len(series) / 2)
            parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>' % (
                x, y_of(value), wide - 1, top + HEIGHT - y_of(value), colour, "%s %s: %g" % (place, name, value)))
            if wide > 9:
                parts.append(text(x + wide / 2 + 4, y_of(value) - 4, label_of(value, most), "start", 10, -90))
        if len(series) > 1:
            parts += ['<rect x="%g" y="%g" width="10" height="10" fill="%s"/>' % (left + 8 + 95 * number, top + 7, colour),
                      text(left + 22 + 95 * number, top + 16, name, "start", 11)]
    if goal:
        parts += ['<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#c33" stroke-dasharray="5 4"/>' % (
            left, y_of(goal), left + WIDTH, y_of(goal)), text(left + WIDTH + 3, y_of(goal) + 4, "goal", "start", 11)]
    return parts + [text(at[place], top + HEIGHT + 18, place, size=11) for place in places]


def ratios(rows, key):
    return [(BLUE, "program", {row[key]: row["ratio_program"] for row in rows}),
            (ORANGE, "all CPU time", {row[key]: row["ratio_cpu"] for row in rows}),
            (GREY, "wall", {row[key]: row["ratio_wall"] for row in rows})]


def events(rows, key):
    return [(GREEN, "events", {row[key]: row["events"] for row in rows})]


def write(path, found, options):
    steps, kinds, guest = found["intervals"], found["mechanisms"], found["guest"]
    highest = max([1.25] + [row[ratio] * 1.08 for row in steps + kinds for ratio in ("ratio_cpu", "ratio_wall")])
    most = max([1] + [row["events"] for row in steps + kinds]) * 1.25
    runs = sorted({row["runs"] for row in steps + kinds})
    by_step, by_kind = [row["interval_ms"] for row in steps], [row["mechanism"] for row in kinds]
    height = 940 if guest else 640
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="840" height="%d" font-family="sans-serif" fill="#222">' % height,
             '<rect width="840" height="%d" fill="#fff"/>' % height,
             text(420, 24, "Pages from faults: %d MiB, medians of %s runs" % (options.mib, " to ".join(map(str, sorted({runs[0], runs[-1]})))),
                  size=16)]
    parts += plot(90, 70, "Figure 2a: time against the plain run", "interval, ms", "ratio", by_step,
                  ratios(steps, "interval_ms"), 0.9, highest, GOAL)
    parts += plot(500, 70, "Figure 2b: page uses seen", "interval, ms", "events", by_step, events(steps, "interval_ms"), 0, most)
    parts += plot(90, 370, "Figure 3a: time at 50 ms", "mechanism", "ratio", by_kind, ratios(kinds, "mechanism"), 0.9,
                  highest, GOAL)
    parts += plot(500, 370, "Figure 3b: page uses seen at 50 ms", "mechanism", "events", by_kind, events(kinds, "mechanism"),
                  0, most)
    if guest:
        names = [row["mechanism"] for row in guest]
        ratio = {row["mechanism"]: row["ratio_instructions"] for row in guest}
        seen = [(GREEN, "events", {row["mechanism"]: row["events"] for row in guest})]
        parts += plot(90, 670, "Figure 3c: instructions at 50 ms, emulated", "mechanism, %d MiB" % guest[0]["mib"], "ratio",
                      names, [(BLUE, "instructions", ratio)], 0.9, max([1.25] + [r * 1.08 for r in ratio.values()]), GOAL)
        parts += plot(500, 670, "Figure 3d: page uses seen, emulated", "mechanism, %d MiB" % guest[0]["mib"], "events", names,
                      seen, 0, max([1] + [row["events"] for row in guest]) * 1.25)
    with open(path, "w") as stream:
        stream.write("\n".join(parts) + "\n</svg>\n")
