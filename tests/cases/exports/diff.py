#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xenflame diff: made profiles with known changes, the halves of one recording, every format, conditions and exit codes."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import HOST, XENFLAME, done, ok  # noqa: E402


def diff(*args):
    run = subprocess.run([XENFLAME, 'diff', '-q', '--offline', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    return run.returncode, run.stdout.decode(errors='replace'), run.stderr.decode(errors='replace')


def rows(text):
    """Function -> (own before, own after, is sure) of the table."""
    found = {}
    for line in text.split('\n'):
        m = re.match(r' *([\d.]+) +([\d.]+) +[+-][\d.]+ +[\d.]+ ([* ]) +[\d.]+ +[\d.]+ +[+-][\d.]+ +[\d.]+ ([* ]) (\S+)', line)
        if m:
            found[m.group(5)] = (float(m.group(1)), float(m.group(2)), m.group(3) == '*')
    return found


with tempfile.TemporaryDirectory() as tmp:
    def made(name, text):
        path = os.path.join(tmp, name)
        with open(path, 'w') as f:
            f.write(text)
        return path

    before = made('before.folded', 'app;main;grown_[h] 1000\napp;main;shrunk 2000\napp;main;gone 500\napp;main;same 6500\n')
    after = made('after.folded', 'app;main;grown_[h] 4000\napp;main;shrunk 2000\napp;main;came 1000\napp;main;same 13000\n')
    status, out, err = diff(before, after)
    table = rows(out)
    ok(status == 0 and table.get('grown_[h]') == (10.0, 20.0, True), 'a function that has grown', out + err)
    ok(table.get('shrunk') == (20.0, 10.0, True), 'one that has shrunk: shares are compared', out)
    ok(table.get('gone') == (5.0, 0.0, True) and table.get('came') == (0.0, 5.0, True), 'one that came and one that vanished', out)
    ok(table.get('same') == (65.0, 65.0, False), 'one that stayed', out)
    ok(list(table)[0] == 'grown_[h]' or list(table)[0] == 'shrunk', 'the largest come first', list(table))

    status, out, err = diff(before, after, '--normalize=none')
    ok(rows(out).get('same', (0, 0, 0))[2] and not rows(out)['shrunk'][2], 'weights as they are', out)
    status, out, err = diff(before, after, '--normalize=time')
    ok(status == 1 and 'by time' in err, 'by time without times is an error', err)

    for condition, want in (('grown>+5%', 1), ('grown_[h]>+11%', 0), ('self:grown>x1.5', 1), ('shrunk>15%', 0), ('shrunk>9%', 1),
                            ('same<+0.1%', 0), ('*>+9%', 1)):
        status, out, err = diff(before, after, f'--fail-if={condition}')
        ok(status == want and (not want or condition in err), f'--fail-if={condition}: exit {want}', err)
    status, out, err = diff(before, after, '--fail-if=absent>+1%')
    ok(status == 1 and "neither recording has a function 'absent'" in err, 'a condition on nothing is an error', err)
    status, out, err = diff(before, after, '--fail-if=x')
    ok(status == 2, 'a condition that is none is wrong usage', err)
    status, out, err = diff(before, after, '--fail-if=same>x-1')
    ok(status == 2, 'a negative ratio is wrong usage', err)
    status, out, err = diff(before, after, '--fail-if-regressed')
    ok(status == 1 and 'grown_[h]' in err and 'came' in err and 'shrunk' not in err and 'same' not in err, '--fail-if-regressed names them', err)
    status, out, err = diff(after, after, '--fail-if-regressed', '--fail-if=*>+0%')
    ok(status == 0 and not err and 'Nothing has changed' in out, 'nothing differs from itself', out + err)
    ok(diff(before)[0] == 2 and diff(before, after, after)[0] == 2, 'one and three files are wrong usage')

    # What has vanished: listed where it has no width, shown where it has one.
    for width, boxes in (('after', ['came', 'grown_[h]', 'same', 'shrunk']), ('before', ['gone', 'grown_[h]', 'same', 'shrunk']),
                         ('union', ['came', 'gone', 'grown_[h]', 'same', 'shrunk'])):
        target = os.path.join(tmp, f'{width}.svg')
        status, out, err = diff(before, after, f'--width-by={width}', '-o', target)
        svg = open(target).read()
        tips = {m[1]: (float(m[0]), m[2]) for m in re.findall(r'<rect x="[\d.]+%"[^>]* width="([\d.]+)%"[^>]*><title>(\S+) \(([^<]*)</title>', svg)}
        ok(sorted(x for x in tips if x not in ('all', 'app', 'main')) == boxes, f'--width-by={width}: boxes', tips)
        note = re.findall('only in (BEFORE|AFTER): ([^<]*)<', re.sub('(?s)<script.*?</script>', '', svg))
        want = {'after': [('BEFORE', 'gone 5.00%; 1 box with 5.00% of it')], 'before': [('AFTER', 'came 5.00%; 1 box with 5.00% of it')], 'union': []}
        ok(note == want[width], f'--width-by={width}: what has no width is named', note)
        ok('more in AFTER' in svg and 'less in AFTER' in svg and 'within noise' in svg, f'--width-by={width}: the legend names the direction')
        share = {'after': 65.0, 'before': 65.0, 'union': 65 / 1.15}[width]
        ok(abs(tips['same'][0] - share) < 0.1, f'--width-by={width}: widths', tips['same'])
        ok('total 10.00% -&gt; 20.00% (+10.00% +/- ' in tips['grown_[h]'][1] and 'beyond noise' in tips['grown_[h]'][1] and
           'self 10.00% -&gt; 20.00%' in tips['grown_[h]'][1], f'--width-by={width}: the tip tells self and total change', tips['grown_[h]'])
    colors = {m[1]: m[0] for m in re.findall(r'fill="(#[0-9a-f]{6})"><title>(\S+)', svg)}

    def hue(c):
        r, g, b = (int(c[i:i + 2], 16) for i in (1, 3, 5))
        return 'grey' if r == g == b else 'orange' if r > b else 'blue'
    ok([hue(colors[f]) for f in ('grown_[h]', 'came', 'shrunk', 'gone', 'same')] == ['orange', 'orange', 'blue', 'blue', 'grey'], 'colours', colors)
    ok(hue(colors['main']) == 'grey', 'inner frames have the colour of their own change', colors)
    ok(diff(before, after, '--width-by=x')[0] == 2, 'a wrong --width-by is wrong usage')
    for wrong in ('--slices=7.5', '--slices=4', '--slices=', '--confidence=100', '--confidence=nan', '--confidence=99%'):
        status, out, err = diff(before, 'absent', wrong)
        ok(status == 2 and f'{wrong}: expected a ' in err, f'{wrong} is wrong usage, whatever the files', err)

    # Subtraction: of each stack what is more; what is less is told.
    run = subprocess.run([XENFLAME, 'diff', '--subtract', before, after, '--format=folded'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ok(run.returncode == 0 and run.stdout == b'app;main;came 1000\napp;main;grown_[h] 3000\napp;main;same 6500\n', '--subtract', run.stdout)
    ok(b'5.00% of BEFORE' in run.stderr, 'what is less than nothing is told', run.stderr)
    status, out, err = diff('--subtract', '--normalize=total', before, after, '--format=folded')
    ok(out == 'app;main;came 1000\napp;main;grown_[h] 2000\n', '--subtract of shares', out)
    status, out, err = diff('--subtract', '--width-by=before', before, after, '--format=folded')
    ok(status == 2 and '--width-by' in err, 'what is left has one width only', err)
    status, out, err = diff('--subtract', after, before, '--format=folded', '--fail-if=gone>+1%')
    ok(status == 1 and out == 'app;main;gone 500\n' and '--fail-if=gone' in err, 'conditions hold for the comparison that it is of', out + err)

    # Several recordings a side: what they differ by among themselves is noise.
    runs = {side: [made(f'{side}{k}.folded', f'app;main;steady {10000 + 20 * (k % 2)}\napp;main;jumpy {jumpy}\napp;main;grows {grows + 10 * (k % 3)}\n')
                   for k, jumpy in enumerate((500, 2500, 1200, 700, 1900))] for side, grows in (('old', 2000), ('new', 4000))}
    status, out, err = diff(*runs['old'], '--', *runs['new'][:1], runs['new'][2], *runs['new'][2:])
    ok(status == 0 and 'spread of 5 and 5 recordings' in out, 'several recordings a side', out + err)
    table = rows(out)
    ok(table['grows'][2] and not table['jumpy'][2], 'what varies between recordings is noise', out)
    status, out, err = diff(runs['old'][0], '--', *runs['new'])
    ok(status == 0 and 'spread of 1 and 5 recordings' in out, 'one recording and several', out + err)
    status, out, err = diff(runs['old'][0], runs['old'][1])
    ok(rows(out)['jumpy'][2], 'one recording each cannot know', out)
    ok(diff(*runs['old'], '--')[0] == 2 and diff('--', *runs['old'])[0] == 2 and diff(*runs['old'])[0] == 2, 'both sides are asked for')
    ok(diff('--', before, after)[0] == 0 and diff(before, after, '--')[0] == 0, 'two files need no order around --')
    decimals = made('decimals.folded', 'app;main;grown_[h] 100.5\napp;main;same 650\n')
    status, out, err = diff(decimals, '--', before, after, '--format=folded')
    ok(status == 2 and 'stand before' in err, 'options stand before the files', err)
    status, out, err = diff('--format=folded', '--normalize=none', decimals, '--', before)
    ok('app;main;grown_[h] 100.5 1000\n' in out and 'app;main;shrunk 0 2000\n' in out, 'decimals of one side hold for both', out)

    # Halves of one recording, cut into a hundred spans that fall to either side by chance: all that differs is noise.  At one
    # comparison in twenty, more than three of twenty are told apart by chance in 1.6 % of trials; these are always the same ones.
    text = os.path.join(tmp, 'whole.perf-script.txt')
    subprocess.run([XENFLAME, '-q', '--offline', HOST, '-o', text], check=True)
    samples = [x for x in re.sub('^(#.*\n)*', '', open(text).read()).split('\n\n') if x]
    told = 0
    for seed in range(20):
        chance = random.Random(seed)
        side = [chance.randrange(2) for _ in range(100)]
        halves = ['', '']
        for i, x in enumerate(samples):
            halves[side[i * 100 // len(samples)]] += x + '\n\n'
        status, out, err = diff(made('a.perf.txt', halves[0]), made('b.perf.txt', halves[1]))
        ok(status == 0 and 'slices of time' in out, f'halves of a recording, {seed}', err)
        told += 'Nothing has changed' not in out
    ok(told <= 3, f'{told} of 20 halves are told apart')

    for name, suffix in (('svg', 'svg'), ('html', 'html'), ('folded', 'folded'), ('json', 'json'), ('d3', 'd3.json'), ('pprof', 'pb.gz'),
                         ('speedscope', 'speedscope.json'), ('text', 'txt')):
        target = os.path.join(tmp, f'd.{suffix}')
        status, out, err = diff(before, after, '-o', target)
        ok(status == 0 and os.path.getsize(target) > 100, f'written as {name}', err)
    ok(open(os.path.join(tmp, 'd.folded')).read() == 'app;main;came 0 1000\napp;main;gone 500 0\napp;main;grown_[h] 1000 4000\n'
       'app;main;same 6500 13000\napp;main;shrunk 2000 2000\n', 'folded text has both counts')
    j = json.load(open(os.path.join(tmp, 'd.json')))
    for kept in ('d.folded', 'd.json'):
        status, out, err = diff(os.path.join(tmp, kept), after)
        ok(status == 1 and 'holds a comparison' in err, f'{kept} is no side of another comparison', err)
    for files in ((before, 'absent'), ('absent', after), (before, before, '--', after, 'absent')):
        status, out, err = diff(*files)
        ok(status == 1 and err == "xenflame: 'absent': cannot open: No such file or directory\n", f'{files[-2:]}: a file that is not there', (status, err))
    odd = made('odd.folded', 'app;f 10\nno count here\n')
    for files, named in (((before, odd), [before, odd]), ((odd, before), [odd, before]), ((odd, '--', odd, after), [odd, odd, after])):
        run = subprocess.run([XENFLAME, 'diff', *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8')
        lines = [re.match(r"xenflame: (warning|note): '([^']*)': (1 line not understood|\d+ of the hypervisor samples)", x) for x in run.stderr.splitlines()]
        ok([x and x[2] for x in lines] == named and all((x[1] == 'warning') == (x[2] == odd) for x in lines),
           f'remarks tell which recording they are of: {len(named)}', run.stderr)
    n = j['nodes']
    label = [None if f is None else j['frames'][f]['label'] for f in n['frame']]
    at = label.index('gone')
    ok((n['self'][at], n['base_self'][at], j['diff']['base_scale']) == (0, 500, 2), 'JSON keeps what vanished')
    ok(at in j['diff']['changed_self'] and label.index('same') not in j['diff']['changed_self'], 'JSON tells what is sure')
    # Folded stacks have no modules and do not tell the kernel: the names are the same.
    folded = os.path.join(tmp, 'same.folded')
    subprocess.run([XENFLAME, '-q', '--offline', HOST, '-o', folded], check=True)
    for files in ((HOST, folded), (folded, HOST), (folded, text)):
        status, out, err = diff(*files)
        ok(status == 0 and 'Nothing has changed' in out and 'only in' not in out and 'by name alone' in out,
           f'{" and ".join(os.path.basename(f) for f in files)}: the same stacks', out)
    status, out, err = diff(text, HOST)
    ok(status == 0 and 'Nothing has changed' in out and 'only in' not in out and 'by name' not in out, 'and with modules', out)
    status, out, err = diff(HOST, HOST)
    ok(status == 0 and 'from 20 slices of time' in out and not any(r[2] for r in rows(out).values()),
       'a recording does not differ from itself; noise is from slices of time', out)
done()
