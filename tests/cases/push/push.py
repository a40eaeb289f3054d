#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""push: every byte that arrives at a server on the loopback, and what happens when it does not. TAP."""
import base64
import gzip
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from tap import HOST, XENFLAME, check, done  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'exports'))
import protoc  # noqa: E402

tmp = tempfile.TemporaryDirectory()
ENV = {k: v for k, v in os.environ.items() if 'proxy' not in k.lower()}


def run(*args, **kw):
    r = subprocess.run([XENFLAME, *args], capture_output=True, check=False, timeout=120, env=ENV, **kw)
    return r.returncode, r.stdout, r.stderr.decode()


def path(name, content=None):
    p = os.path.join(tmp.name, name)
    if content is not None:
        with open(p, 'wb') as f:
            f.write(content)
    return p


class Server:
    """Answers with what `answers` says, in turn, the last one for ever; keeps requests as they came."""

    def __init__(self, *answers, context=None):
        self.got, self.answers = [], list(answers) or [(200, {}, b'')]
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                outer.got.append((self.command, self.path, list(self.headers.items()), body, time.monotonic()))
                answer = outer.answers[0] if len(outer.answers) == 1 else outer.answers.pop(0)
                if answer == 'hang':
                    time.sleep(3)
                    self.close_connection = True
                    return
                if answer == 'close':
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                code, headers, text = answer
                self.send_response(code)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET = do_PUT = handle_any

            def log_message(self, *args):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass

        self.httpd = Quiet(('127.0.0.1', 0), Handler)
        if context:
            self.httpd.socket = context.wrap_socket(self.httpd.socket, server_side=True)
        self.port = self.httpd.server_address[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.httpd.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.httpd.shutdown()
        self.httpd.server_close()


def query(request):
    parts = urllib.parse.urlsplit(request[1])
    return parts.path, urllib.parse.parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)


def labels(request):
    """Name and labels as Pyroscope's parser splits them."""
    name = dict(query(request)[1])['name']
    app, _, rest = name.partition('{')
    assert not rest or rest.endswith('}')
    return app, dict(x.split('=', 1) for x in rest[:-1].split(',')) if rest else {}


rc, out, err = run('push', '-q', '--retries=0', '--to=http://127.0.0.1:1', path('probe.folded', b'a;b 1\n'))
if 'without libcurl' in err:
    check('a build without libcurl says so', rc == 1, err)
    done()

# What is sent.
rc, out, err = run('-q', '--offline', HOST, '-o', path('x.folded'))
folded = open(path('x.folded'), 'rb').read()
with Server() as s:
    rc, out, err = run('push', '-q', '--offline', f'--to={s.url}', HOST)
    check('a recording is taken', (rc, out, err, len(s.got)) == (0, b'', '', 1), (rc, out, err, len(s.got)))
    method, target, headers, body, _ = s.got[0]
    where, q = query(s.got[0])
    check('method and path', (method, where) == ('POST', '/ingest'), (method, where))
    check('body is the folded file', body == folded and len(folded) > 10000, len(body))
    head = {k.lower(): v for k, v in headers}
    version = run('--version')[1].decode().split()[1]
    check('headers', head == {'host': f'127.0.0.1:{s.port}', 'accept': '*/*', 'user-agent': f'xenflame/{version}',
                              'content-type': 'text/plain', 'content-length': str(len(folded))} and len(head) == len(headers), headers)
    until = int(os.stat(HOST).st_mtime)
    q = dict(q)
    check('parameters', list(q) == ['name', 'from', 'until', 'format', 'sampleRate', 'spyName', 'units', 'aggregationType'] and
          (q['until'], q['format'], q['spyName'], q['units'], q['aggregationType']) ==
          (str(until), 'folded', 'xenflame', 'samples', 'sum'), q)
    hz = int(q['sampleRate'])
    report = subprocess.run([XENFLAME, 'report', '-q', '--offline', '--json', HOST], capture_output=True, check=True, env=ENV).stdout
    facts = json.loads(report)['facts']
    facts = {f['key']: f['value'] for f in facts} if isinstance(facts, list) else facts
    length = float(facts['time'].split()[0])
    check('from is until less the length', until - int(q['from']) == max(1, -int(-length // 1)), (q, length))
    app, lab = labels(s.got[0])
    check('labels', app == 'xenflame.cpu' and lab == {'host': facts['host'], 'kernel': facts['kernel']}, (app, lab))
    rate = subprocess.run(['grep', '-oE', r'-F [0-9]+'], input=facts['command'], capture_output=True, text=True, check=False).stdout
    check('the rate that was asked for', not rate or q['sampleRate'] == rate.split()[1], (q['sampleRate'], facts['command']))

    del s.got[:]
    tree = path('tree')
    for name, text in (('sys/hypervisor/type', 'xen\n'), ('sys/hypervisor/version/major', '4\n'), ('sys/hypervisor/version/minor', '17\n'),
                       ('sys/hypervisor/version/extra', '.5-pre\n'), ('proc/xen/capabilities', 'control_d\n')):
        os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
        with open(os.path.join(tree, name), 'w', encoding='ascii') as f:
            f.write(text)
    secret = path('secret', b'Authorization: Bearer s3cret\r\n\nX-Scope-OrgID: lab\n')
    rc, out, err = run('push', '-q', '--offline', f'--to={s.url}/base/', '--app=lab.cpu', '--label=rack=b 7/é', '--label=kernel=', '--anonymous',
                       f'--sysroot={tree}', f'--header=@{secret}', '--header=X-One: 1', '--until=1700000000', '--rate=250', HOST)
    check('labels of the host and our own', rc == 0 and labels(s.got[0]) ==
          ('lab.cpu', {'rack': 'b 7/é', 'xen': '4.17.5-pre', 'domain': 'dom0'}), err or labels(s.got[0]))
    where, q = query(s.got[0])
    q = dict(q)
    check('a path before /ingest, time and rate', (where, q['until'], q['sampleRate']) == ('/base/ingest', '1700000000', '250'), (where, q))
    h = dict(s.got[0][2])
    check('headers of a file', (h['Authorization'], h['X-Scope-OrgID'], h['X-One']) == ('Bearer s3cret', 'lab', '1'), h)

    del s.got[:]
    rc, out, err = run('push', '-q', '--offline', f'--to={s.url}/ingest', '--split=space', HOST)
    parts = {labels(r)[1]['space']: r[3] for r in s.got}
    check('a profile for each space', rc == 0 and len(parts) == len(s.got) > 1 and 'hypervisor' in parts, (rc, err, list(parts)))
    check('the parts are the whole', sorted(b''.join(parts.values()).splitlines()) == sorted(folded.splitlines()))
    check('each stack in its part', all(line.rsplit(b' ', 1)[0].endswith(b'_[h]') for line in parts['hypervisor'].splitlines()) and
          not any(line.rsplit(b' ', 1)[0].endswith(b'_[h]') for k, v in parts.items() if k != 'hypervisor' for line in v.splitlines()))

    del s.got[:]
    rc, out, err = run('-q', '--offline', HOST, '-o', path('x.pb.gz'))
    rc, out, err = run('push', '-q', '--offline', '--as=pprof', f'--to={s.url}/any/path?tenant=7', HOST)
    check('pprof to just this address', rc == 0 and s.got[0][:2] == ('POST', '/any/path?tenant=7'), (err, s.got[0][:2] if s.got else None))
    if not protoc.missing:
        stacks_of = [protoc.pprof_stacks(protoc.decode('pprof.proto', 'Pprof', gzip.decompress(x))) for x in (s.got[0][3], open(path('x.pb.gz'), 'rb').read())]
        check('body is a pprof file of the same', stacks_of[0] == stacks_of[1] and len(list(stacks_of[0].values())[0]) > 1000, [len(x) for x in stacks_of])
    check('its type', dict(s.got[0][2])['Content-Type'] == 'application/octet-stream', s.got[0][2])

    del s.got[:]
    rc, out, err = run('push', f'--to={s.url}', path('t.folded', b'a;b 3\na;c 4\n'))
    check('text has no rate: told, and left out', rc == 0 and '--rate' in err and 'sampleRate' not in s.got[0][1] and s.got[0][3] == b'a;b 3\na;c 4\n', err)
    before = int(time.time())
    rc, out, err = run('push', '-q', f'--to={s.url}', '-', input=b'a;b 3\n')
    q = dict(query(s.got[1])[1])
    check('standard input ends now', rc == 0 and before <= int(q['until']) <= int(time.time()) and int(q['until']) - int(q['from']) == 1, q)
    check('no labels, no braces', q['name'] == 'xenflame.cpu', q)

T = path('t.folded')
# OpenTelemetry: an export request, gzipped.
def otlp(request):
    return protoc.decode('otlp.proto', 'Request', gzip.decompress(request[3]))


def resource(r):
    return {a['key'][0].decode(): a['value'][0]['text'][0].decode() for a in r['resource_profiles'][0]['resource'][0]['attribute']}


def stacks(r):
    profile, = r['resource_profiles'][0]['scope_profiles'][0]['profile']
    return {b';'.join(k): v for k, v in protoc.otlp_stacks(r['dictionary'][0], profile).items()}


def unfold(text):
    return {b';'.join(urllib.parse.unquote_to_bytes(f) for f in line.rsplit(b' ', 1)[0].split(b';')): int(line.rsplit(b' ', 1)[1]) for line in text.splitlines()}


if protoc.missing:
    check('OTLP # SKIP protoc is not installed', True)
else:
    with Server() as s:
        rc, out, err = run('push', '-q', '--offline', '--as=otlp', f'--to={s.url}', '--until=1700000000', '--label=service.namespace=lab', '--label=rack=b7', HOST)
        check('OTLP: a recording is taken', (rc, out, err, len(s.got)) == (0, b'', '', 1), (rc, out, err, len(s.got)))
        method, target, headers, body, _ = s.got[0]
        check('OTLP: method and path', (method, target) == ('POST', '/v1development/profiles'), (method, target))
        check('OTLP: headers', {k.lower(): v for k, v in headers} == {
            'host': f'127.0.0.1:{s.port}', 'accept': '*/*', 'user-agent': f'xenflame/{version}', 'content-type': 'application/x-protobuf',
            'content-encoding': 'gzip', 'content-length': str(len(body))}, headers)
        r = otlp(s.got[0])
        d, profile = r['dictionary'][0], r['resource_profiles'][0]['scope_profiles'][0]['profile'][0]
        check('OTLP: resource', resource(r) == {'service.name': 'xenflame', 'host.name': facts['host'], 'kernel': facts['kernel'], 'rack': 'b7', 'service.namespace': 'lab'}, resource(r))
        check('OTLP: stacks', stacks(r) == unfold(folded) and len(stacks(r)) > 1000, len(stacks(r)))
        check('OTLP: tables', not protoc.otlp_wrong(d), protoc.otlp_wrong(d))
        seconds = max(1, -int(-length // 1))
        check('OTLP: time and duration', (profile.one('time'), profile.one('duration')) == ((1700000000 - seconds) * 10**9, seconds * 10**9), (profile.one('time'), profile.one('duration')))
        types = [tuple(d['string'][profile[k][0].one(x)] for x in ('type', 'unit')) for k in ('type', 'period_type')]
        check('OTLP: samples, and the CPU time of each', types == [(b'samples', b'count'), (b'cpu', b'nanoseconds')] and
              profile.one('period') == 10**9 // hz, (types, profile.one('period'), hz))
        del s.got[:]
        rc, out, err = run('push', '--as=otlp', f'--to={s.url}/otlp/v1/profiles/', '--app=mine', T)
        r = otlp(s.got[0])
        check('OTLP: an address that ends in /profiles is kept', rc == 0 and s.got[0][1] == '/otlp/v1/profiles' and resource(r) == {'service.name': 'mine'} and
              stacks(r) == {b'a;b': 3, b'a;c': 4}, (s.got[0][1], resource(r), stacks(r)))
        profile = r['resource_profiles'][0]['scope_profiles'][0]['profile'][0]
        check('OTLP: no rate: told, and left out', '--rate' in err and not profile['period'] and profile['period_type'] == [{}], (err, profile['period_type']))
        rc, out, err = run('push', '-q', '--as=otlp', f'--to={s.url}/x?tenant=7', '--rate=50', T)
        profile = otlp(s.got[1])['resource_profiles'][0]['scope_profiles'][0]['profile'][0]
        check('OTLP: and so is one with a query; --rate', s.got[1][1] == '/x?tenant=7' and profile.one('period') == 20000000, s.got[1][1])
        del s.got[:]
        rc, out, err = run('push', '-q', '--offline', '--as=otlp', f'--to={s.url}', '--split=space', '--anonymous', HOST)
        parts = {resource(otlp(r))['space']: stacks(otlp(r)) for r in s.got}
        total = {}
        for part in parts.values():
            for k, v in part.items():
                total[k] = total.get(k, 0) + v
        check('OTLP: --split=space', rc == 0 and len(parts) == len(s.got) > 2 and total == unfold(folded) and
              all('host.name' not in resource(otlp(r)) for r in s.got), list(parts))
    # Parca: pprof in JSON.
    with Server() as s:
        rc, out, err = run('push', '-q', '--offline', '--as=parca', f'--to={s.url}/', '--until=1700000000', '--label=rack=b7', HOST)
        check('Parca: method and path', rc == 0 and len(s.got) == 1 and s.got[0][:2] == ('POST', '/api/profiles/writeraw'), (err, s.got[:1]))
        check('Parca: type', dict(s.got[0][2])['Content-Type'] == 'application/json' and 'Content-Encoding' not in dict(s.got[0][2]), s.got[0][2])
        j = json.loads(s.got[0][3])
        raw = j['series'][0]['samples'][0]['rawProfile']
        check('Parca: labels, and nothing else', j == {'series': [{'labels': {'labels': [{'name': '__name__', 'value': 'xenflame'}, {'name': 'host', 'value': facts['host']},
                                                                                  {'name': 'kernel', 'value': facts['kernel']}, {'name': 'rack', 'value': 'b7'}]},
                                                               'samples': [{'rawProfile': raw}]}]}, j['series'][0]['labels'])
        p = protoc.decode('pprof.proto', 'Pprof', gzip.decompress(base64.b64decode(raw, validate=True)))
        got, = protoc.pprof_stacks(p).values()
        check('Parca: stacks', {b';'.join(k): v for k, v in got.items()} == unfold(folded), len(got))
        check('Parca: time, duration, period', (p.one('time'), p.one('duration'), p.one('period'), p['string'][p['period_type'][0].one('type')], p['string'][p['period_type'][0].one('unit')]) ==
              ((1700000000 - seconds) * 10**9, seconds * 10**9, 10**9 // hz, b'cpu', b'nanoseconds'), [p[k] for k in ('time', 'duration', 'period')])
        ids = [[x.one('id') for x in p[table]] for table in ('mapping', 'location', 'function')]
        check('Parca: numbers of tables have no gaps', all(x == list(range(1, len(x) + 1)) and len(x) > 5 for x in ids), [x[:5] for x in ids])
        del s.got[:]
        rc, out, err = run('push', '-q', '--offline', '--as=parca', f'--to={s.url}/sub/api/profiles/writeraw', '--split=space', '--app=x', HOST)
        parts = [dict((x['name'], x['value']) for x in json.loads(r[3])['series'][0]['labels']['labels']) for r in s.got]
        check('Parca: --split=space, --app, an address that is whole', rc == 0 and len({x['space'] for x in parts}) == len(parts) > 2 and
              all(x['__name__'] == 'x' for x in parts) and s.got[0][1] == '/sub/api/profiles/writeraw', parts)
    for code in (400, 401, 408, 413, 500, 501):
        with Server((code, {'Content-Type': 'application/x-protobuf'}, protoc.encode('otlp.proto', 'Status', 'code: 3 message: "not \\033[1mthis"'))) as s:
            rc, out, err = run('push', '-q', '--as=otlp', f'--to={s.url}', '--retry-wait=0.01', T)
            check(f'OTLP: {code} is the last word, and told', rc == 1 and len(s.got) == 1 and f'{code}: not ?[1mthis' in err, (err, len(s.got)))
    with Server((429, {}, b''), (502, {}, b'plain words\nmore'), (503, {}, b''), (504, {}, b''), (200, {}, b'')) as s:
        rc, out, err = run('push', '--as=otlp', f'--to={s.url}', '--retry-wait=0.01', '--rate=9', T)
        check('OTLP: 429, 502, 503 and 504 are tried again', rc == 0 and len(s.got) == 5 and '502: plain words;' in err and len({r[3] for r in s.got}) == 1, (err, len(s.got)))
    for what, message, code, words in (('rejected', 'partial_success { rejected: 1 message: "too old" }', 1, 'rejects the profile: too old'),
                                       ('a warning', 'partial_success { message: "slow down" }', 0, 'the server says: slow down'), ('success', 'partial_success { }', 0, '')):
        with Server((200, {}, protoc.encode('otlp.proto', 'Response', message))) as s:
            rc, out, err = run('push', '--as=otlp', f'--to={s.url}', '--rate=9', T)
            check(f'OTLP: {what}', rc == code and len(s.got) == 1 and words in err and bool(words) == bool(err), (rc, err))
    with Server((200, {}, b'{"partialSuccess":{}}')) as s:
        rc, out, err = run('push', '--as=otlp', f'--to={s.url}', '--rate=9', T)
        check('OTLP: a success in other words', rc == 0 and not err, (rc, err))

# What the server says.
with Server((503, {}, b'busy\nmore'), (429, {}, b''), (200, {}, b'')) as s:
    rc, out, err = run('push', f'--to={s.url}', '--retry-wait=0.2', '--rate=9', T)
    check('after 503 and 429 it is tried again', rc == 0 and len(s.got) == 3, (rc, err, len(s.got)))
    check('the same request each time', len({r[:2] + (tuple(r[2]), r[3]) for r in s.got}) == 1)
    check('each is told', err.count('trying again in') == 2 and '503: busy;' in err and '429;' in err, err)
    gaps = [b[4] - a[4] for a, b in zip(s.got, s.got[1:])]
    check('waits grow', len(gaps) == 2 and gaps[0] >= 0.1 and gaps[1] >= 0.2, gaps)
with Server((503, {'Retry-After': '2'}, b''), (204, {}, b'')) as s:
    rc, out, err = run('push', '-q', f'--to={s.url}', '--retry-wait=0.01', T)
    check('Retry-After is kept', rc == 0 and len(s.got) == 2 and s.got[1][4] - s.got[0][4] >= 2, (rc, err))
with Server((500, {}, b'no \x1b[31mdisk\n')) as s:
    rc, out, err = run('push', '-q', f'--to={s.url}', '--retry-wait=0.01', '--retries=2', T)
    check('given up in the end', rc == 1 and len(s.got) == 3 and 'given up after 3 tries' in err, (rc, err, len(s.got)))
    check('words of the server do no harm', '\x1b' not in err and 'disk' in err, err)
for code in (400, 401, 404, 413, 422, 501):
    with Server((code, {}, b'because')) as s:
        rc, out, err = run('push', '-q', f'--to={s.url}', '--retry-wait=0.01', T)
        check(f'{code} is the last word', rc == 1 and len(s.got) == 1 and f'{code}: because' in err, (rc, err, len(s.got)))
with Server((307, {'Location': 'http://127.0.0.1:1/'}, b'')) as s:
    rc, out, err = run('push', '-q', f'--to={s.url}', '--header=Authorization: x', T)
    check('a redirection is not followed', rc == 1 and len(s.got) == 1 and '307' in err, (rc, err))
with Server('hang') as s:
    start = time.monotonic()
    rc, out, err = run('push', '-q', f'--to={s.url}', '--timeout=0.4', '--retries=1', '--retry-wait=0.01', T)
    check('timeout', rc == 1 and len(s.got) == 2 and 0.8 <= time.monotonic() - start < 2.9 and 'timed out' in err.lower(), (rc, err, len(s.got)))
with Server('close', (200, {}, b'')) as s:
    rc, out, err = run('push', '-q', f'--to={s.url}', '--retry-wait=0.01', T)
    check('a connection that breaks is tried again', rc == 0 and len(s.got) == 2, (rc, err, len(s.got)))
closed = socket.socket()
closed.bind(('127.0.0.1', 0))
port = closed.getsockname()[1]
rc, out, err = run('push', '-q', f'--to=http://me:pass@127.0.0.1:{port}', '--retries=1', '--retry-wait=0.01', T)
check('a refused connection is told, without the password', rc == 1 and f'http://127.0.0.1:{port}/' in err and 'given up after 2' in err and
      'pass' not in err, err)
closed.close()

# TLS.
if shutil.which('openssl'):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', path('key.pem'), '-out', path('cert.pem'), '-days', '2',
                    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path('cert.pem'), path('key.pem'))
    with Server(context=context) as s:
        rc, out, err = run('push', '-q', f'--to={s.url}', '--retry-wait=0.01', T)
        check('a certificate that nobody vouches for is refused at once', rc == 1 and not s.got and 'cert' in err.lower() and 'tries' not in err,
              (rc, err, len(s.got)))
        rc, out, err = run('push', '-q', f'--to={s.url}', f"--ca-file={path('cert.pem')}", T)
        check('--ca-file', rc == 0 and len(s.got) == 1 and s.got[0][3] == b'a;b 3\na;c 4\n', (rc, err))
        rc, out, err = run('push', '-q', f'--to={s.url}', f"--ca-file={path('missing.pem')}", T)
        check('a file of certificates that is not there', rc == 1 and len(s.got) == 1 and err, (rc, err))
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', path('key2.pem'), '-out', path('cert2.pem'), '-days', '2',
                    '-subj', '/CN=other', '-addext', 'subjectAltName=DNS:other.example'], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path('cert2.pem'), path('key2.pem'))
    with Server(context=context) as s:
        rc, out, err = run('push', '-q', f'--to={s.url}', f"--ca-file={path('cert2.pem')}", T)
        check('a certificate of another host is refused', rc == 1 and not s.got, (rc, err))
else:
    check('TLS # SKIP openssl is missing', True)

# Usage.
for what, args in (('no --to', [T]), ('no file', ['--to=http://x']), ('two files', ['--to=http://x', T, T]), ('-o', ['--to=http://x', '-o', 'x.svg', T]),
                   ('--as', ['--to=http://x', '--as=jfr', T]), ('a label without a name', ['--to=http://x', '--label==b', T]),
                   ('a label with braces', ['--to=http://x', '--label=a=b}', T]), ('a query for Pyroscope', ['--to=http://x?a=b', T]),
                   ('a header without a colon', ['--to=http://x', '--header=abc', T]), ('a header of two lines', ['--to=http://x', '--header=a: b\nc: d', T]),
                   ('a period for Pyroscope', ['--to=http://x', '--weight=period', T]), ('a label with a dot for Pyroscope', ['--to=http://x', '--label=a.b=c', T]), ('--split of pprof', ['--to=http://x', '--as=pprof', '--split=space', T])):
    rc, out, err = run('push', *args)
    check(f'usage: {what}', rc == 2 and err.startswith('xenflame: '), (rc, err))
for url in ('file:///etc/passwd', 'ftp://127.0.0.1/', 'gopher://127.0.0.1:1/', 'http://', 'nonsense'):
    rc, out, err = run('push', '-q', '--retries=0', '--as=pprof', f'--to={url}', T)
    check(f'no other scheme: {url}', rc == 2 and 'http://' in err, (rc, err))
with Server() as s:
    rc, out, err = run('push', '-q', f'--to={s.url}', path('two.folded', b'a;b 3 4\n'))
    check('a comparison is not sent', rc == 1 and not s.got and 'comparison' in err, err)
    rc, out, err = run('push', '-q', f'--to={s.url}', path('half.folded', b'a;b 3.5\n'))
    check('nor are decimals', rc == 1 and not s.got and 'decimals' in err, err)
    rc, out, err = run('push', '-q', '--as=otlp', f'--to={s.url}', path('half.folded'))
    check('nor to OpenTelemetry', rc == 1 and not s.got and 'decimals' in err, err)
    rc, out, err = run('push', '-q', f'--to={s.url}', '--only=nowhere', T)
    check('nor is nothing', rc == 1 and not s.got and 'filters' in err, err)
    rc, out, err = run('push', '-q', f'--to={s.url}', path('missing'))
    check('a file that is not there', rc == 1 and not s.got, err)
done()
