import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { StartupError } from '@warder/base'
import { issue } from '@warder/server/testing'
import { createOutbound } from './client.ts'
import { findRoute, type OutboundCode, OutboundError, type Resolve } from './guard.ts'
import { createPlainFetch } from './plain-fetch.ts'
import { type OutboundSettings, readOutboundAccess } from './proxy.ts'
import { type ProxyFault, startProxy } from './testing/index.ts'
import { openConnection } from './tunnel.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-proxy-'))
const { certificatePem: cert, keyPem: key } = await issue({ hostnames: ['localhost', 'target.example'] })
const caFile = join(folder, 'ca.crt')
writeFileSync(caFile, cert)
const stranger = await issue({ hostnames: ['target.example'] })

/** Requests that the targets received, with the name of the handshake. */
let received: string[] = []
let answer: RequestListener = (_, response) => response.end('hello')
const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  return (server.address() as AddressInfo).port
}
const serve: RequestListener = (request, response) => {
  const name = (request.socket as TLSSocket).servername ?? 'plain'
  received.push(`${name} ${request.method} ${request.headers.host} ${request.url}`)
  assert.equal(request.headers['proxy-authorization'], undefined)
  answer(request, response)
}
const secure = createSecureServer({ cert, key }, serve)
const plain = createServer(serve)
const [port, plainPort] = [await listen(secure), await listen(plain)]
const target = `https://target.example:${port}`

const proxy = await startProxy()
const guarded = await startProxy({ credentials: 'ann:open: sesame' })
const secureProxy = await startProxy({ pair: { cert, key } })
after(async () => {
  secure.closeAllConnections()
  plain.closeAllConnections()
  for (const one of [proxy, guarded, secureProxy]) await one.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  received = []
  answer = (_, response) => response.end('hello')
  for (const one of [proxy, guarded, secureProxy]) {
    one.seen.length = 0
    one.fault = () => undefined
  }
})

const settings: OutboundSettings = {
  outbound_allow_private_networks: false,
  outbound_ca_file: 'ca.crt',
  outbound_proxy: proxy.url,
  outbound_proxy_credentials_file: undefined,
  outbound_proxy_resolves: false,
  outbound_no_proxy: [],
}
const read = (changes: Partial<OutboundSettings> = {}, env: Readonly<Record<string, string>> = {}) =>
  readOutboundAccess({ ...settings, ...changes }, folder, env)

const publicAddress = '93.184.216.34'
const resolve: Resolve = async (name) => [
  { address: name.startsWith('inside') ? '127.0.0.1' : publicAddress, family: 4 },
]
const client = (changes: Partial<OutboundSettings> = {}, more: { readonly timeoutMs?: number } = {}) =>
  createOutbound({ ...read(changes), resolve, ...more })
const fetcher = (changes: Partial<OutboundSettings> = {}) =>
  createPlainFetch({
    ...read(changes),
    resolve,
    ports: 'any',
    maxRedirects: 2,
    maxBytes: 1000,
    timeoutMs: 2000,
  })
const text = ({ body }: { readonly body: Uint8Array }): string => Buffer.from(body).toString()
const targets = (of = proxy): string[] => of.seen.map(({ method, target }) => `${method} ${target}`)

async function assertRefused(reason: OutboundCode, run: Promise<unknown>, message = /./): Promise<string> {
  let said = ''
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof OutboundError, String(error))
    assert.equal(error.code, reason, error.message)
    assert.match(error.message, message)
    said = error.message
    return true
  })
  return said
}

test('the proxy connects to the address that was checked, and TLS is that of the name', async () => {
  assert.equal(text(await client().get(`${target}/x?y=1`)), 'hello')
  assert.deepEqual(targets(), [`CONNECT ${publicAddress}:${port}`])
  assert.deepEqual(received, [`target.example GET target.example:${port} /x?y=1`])
})

test('a host that resolves to an address of this network never reaches the proxy', async () => {
  for (const host of ['inside.example', '10.0.0.1', '[::ffff:10.0.0.1]', '169.254.169.254', '2130706433'])
    await assertRefused('address', client().get(`https://${host}:${port}/`))
  await assertRefused('address', fetcher().get(`http://inside.example:${plainPort}/`))
  assert.deepEqual([targets(), received], [[], []])
})

test('names go to a proxy that resolves them, but no address or name of a private network', async () => {
  const trusting = { outbound_proxy_resolves: true }
  const unasked: Resolve = () => assert.fail('resolved here')
  const outbound = createOutbound({ ...read(trusting), resolve: unasked })
  assert.equal(text(await outbound.get(target)), 'hello')
  assert.deepEqual(targets(), [`CONNECT target.example:${port}`])
  for (const host of [
    '10.0.0.1',
    '[fd00::1]',
    '0x7f.1',
    'kms',
    'kms.',
    'printer.local',
    'metadata.google.internal',
    'a.home.arpa',
  ])
    await assertRefused('address', outbound.get(`https://${host}:${port}/`))
  assert.equal(proxy.seen.length, 1)
  const permitted = createOutbound({ ...read({ ...trusting, outbound_allow_private_networks: true }) })
  await assertRefused(
    'connection',
    permitted.get(`https://kms.internal:${port}/`),
    /Hostname\/IP does not match/,
  )
  assert.deepEqual(targets().slice(1), [`CONNECT kms.internal:${port}`])
})

test('a name that is unknown here is refused with the setting that leaves it to the proxy', async () => {
  const outbound = createOutbound({ ...read(), resolve: () => Promise.reject(new Error('no such name')) })
  await assertRefused(
    'name',
    outbound.get(target),
    /target\.example cannot be resolved here; outbound_proxy_resolves = true/,
  )
})

test('407 says which credentials are missing or wrong, and shows none', async () => {
  const to = (credentials: string) => ({
    outbound_proxy: guarded.url.replace('http://', `http://${credentials}`),
  })
  await assertRefused(
    'connection',
    client(to('')).get(target),
    /requires credentials \(407, Negotiate, Basic\): .*outbound_proxy_credentials_file/,
  )
  const said = await assertRefused(
    'connection',
    client(to('ann:hunter2@')).get(target),
    /does not accept the credentials \(407/,
  )
  assert.doesNotMatch(said, /hunter2|ann/)
  assert.equal(text(await client(to('ann:open%3A%20sesame@')).get(target)), 'hello')
  const trusting = { ...to(''), outbound_proxy_resolves: true }
  await assertRefused('connection', fetcher(trusting).get(`http://target.example:${plainPort}/`), /407/)
})

test('credentials of a file are read for each connection', async () => {
  const file = join(folder, 'credentials')
  const changes = { outbound_proxy: guarded.url, outbound_proxy_credentials_file: 'credentials' }
  writeFileSync(file, 'ann:wrong\n', { mode: 0o600 })
  const outbound = client(changes)
  await assertRefused('connection', outbound.get(target), /does not accept/)
  writeFileSync(file, 'ann:open: sesame\n')
  assert.equal(text(await outbound.get(target)), 'hello')
  const fetch = fetcher({ ...changes, outbound_proxy_resolves: true })
  assert.equal(text(await fetch.get(`http://target.example:${plainPort}/`)), 'hello')
  for (const wrong of ['', 'ann', ':x', 'a:b\nc', 'a:b\0']) {
    writeFileSync(file, wrong)
    assert.throws(() => client(changes), /must contain exactly one line, USER:PASSWORD/)
  }
})

test('a proxy that hangs, closes, refuses or answers by itself is named, and its body is nobody’s answer', async () => {
  const rows: readonly (readonly [ReturnType<ProxyFault>, OutboundCode, RegExp])[] = [
    [
      'hang',
      'time',
      /^the proxy http:\/\/127\.0\.0\.1:\d+ opened no connection to 93\.184\.216\.34:\d+ in time$/,
    ],
    ['close', 'connection', /^the proxy http:\S+ cannot be used: socket hang up$/],
    [
      { status: 403, text: 'secret body' },
      'connection',
      /refused a connection to \S+ with 403: .*outbound_proxy_resolves/,
    ],
    [{ status: 301, text: '' }, 'connection', /with 301/],
    [{ status: 200, text: 'HTTP/1.1 200 OK\r\n\r\n{}' }, 'connection', /wrong version number|packet length/i],
  ]
  for (const [fault, code, message] of rows) {
    proxy.fault = () => fault
    const said = await assertRefused(code, client({}, { timeoutMs: 300 }).get(target), message)
    assert.doesNotMatch(said, /secret body/)
  }
  await assertRefused(
    'connection',
    client({ outbound_proxy: 'http://127.0.0.1:9' }).get(target),
    /the proxy \S+ cannot be used: .*ECONNREFUSED/,
  )
})

test('a proxy that ends TLS itself is refused by the certificate', async () => {
  const impostor = createSecureServer({ cert: stranger.certificatePem, key: stranger.keyPem }, serve)
  const at = await listen(impostor)
  await assertRefused('connection', client().get(`https://target.example:${at}/`), /self-signed certificate/)
  assert.deepEqual(received, [])
})

test('the next address of a host is used when the proxy cannot connect to the first', async () => {
  const first = '2606:4700:4700::1111'
  proxy.fault = ({ target }) => (target.startsWith('[') ? { status: 502, text: '' } : undefined)
  const both: Resolve = async () => [
    { address: first, family: 6 },
    { address: publicAddress, family: 4 },
  ]
  const outbound = createOutbound({ ...read(), resolve: both })
  assert.equal(text(await outbound.get(target)), 'hello')
  assert.deepEqual(targets(), [`CONNECT [${first}]:${port}`, `CONNECT ${publicAddress}:${port}`])
})

test('connections are kept behind the proxy, and outlive the deadline of the request that opened them', async () => {
  const outbound = client()
  const ends = new AbortController()
  await outbound.get(target, { signal: ends.signal })
  ends.abort()
  assert.equal(text(await outbound.get(target)), 'hello')
  assert.equal(text(await outbound.post(target, Buffer.from('x'))), 'hello')
  assert.equal(proxy.seen.length, 1)
  assert.equal(received.length, 3)
})

test('redirects are failures, or are followed to an address that is checked again', async () => {
  answer = (_, response) => response.writeHead(302, { location: `http://inside.example:${plainPort}/` }).end()
  await assertRefused('redirect', client().get(target))
  await assertRefused('address', fetcher().get(`http://target.example:${plainPort}/`))
  answer = (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/next' }).end()
    else response.end('moved')
  }
  assert.equal(text(await fetcher().get(`http://target.example:${plainPort}/`)), 'moved')
})

test('without TLS a checked address takes a tunnel, too, and the Host stays the name', async () => {
  const { status, body } = await fetcher().post(
    `http://target.example:${plainPort}/stamp`,
    'a/b',
    Buffer.from('x'),
  )
  assert.deepEqual([status, text({ body })], [200, 'hello'])
  assert.equal(text(await fetcher().get(`${target}/secure`)), 'hello')
  assert.deepEqual(targets(), [`CONNECT ${publicAddress}:${plainPort}`, `CONNECT ${publicAddress}:${port}`])
  assert.deepEqual(received, [
    `plain POST target.example:${plainPort} /stamp`,
    `target.example GET target.example:${port} /secure`,
  ])
})

test('a proxy that resolves receives the absolute form of requests without TLS', async () => {
  const url = `http://target.example:${plainPort}/a?b`
  assert.equal(text(await fetcher({ outbound_proxy_resolves: true }).get(`${url}#c`)), 'hello')
  assert.deepEqual(targets(), [`GET ${url}`])
  assert.equal(proxy.seen[0]?.headers.host, `target.example:${plainPort}`)
  proxy.fault = () => 'close'
  await assertRefused('connection', fetcher({ outbound_proxy_resolves: true }).get(url))
  proxy.fault = () => 'hang'
  const hasty = createPlainFetch({
    ...read({ outbound_proxy_resolves: true }),
    ...{ ports: 'any', maxRedirects: 0, maxBytes: 9, timeoutMs: 200 },
  })
  await assertRefused('time', hasty.get(url))
})

test('no name adds a line to a request', async () => {
  const guard = read({ outbound_proxy_resolves: true })
  for (const host of ['a.example\r\nX-Evil: 1', 'a.example x', 'a.example/..', 'a@b.example', 'é.example']) {
    const deadline = AbortSignal.timeout(2000)
    const route = await findRoute({ host, port, scheme: 'tls' }, guard, deadline)
    await assertRefused('name', openConnection(route, deadline), /is not a host name/)
  }
  assert.deepEqual(targets(), [])
  await fetcher({ outbound_proxy_resolves: true }).get(`http://target.example:${plainPort}/a\r\nX-Evil: 1`)
  assert.deepEqual(targets(), [`GET http://target.example:${plainPort}/aX-Evil:%201`])
  assert.equal(proxy.seen[0]?.headers['x-evil'], undefined)
})

test('TLS to the proxy is verified with outbound_ca_file, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async (t) => {
  const changes = { outbound_proxy: secureProxy.url }
  assert.equal(text(await client(changes).get(target)), 'hello')
  assert.equal(text(await fetcher(changes).get(`http://target.example:${plainPort}/`)), 'hello')
  assert.deepEqual(secureProxy.seen.length, 2)
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
  const untrusted = client({ ...changes, outbound_ca_file: undefined })
  await assertRefused(
    'connection',
    untrusted.get(target),
    /the proxy https:\/\/localhost:\d+ cannot be used: self-signed certificate/,
  )
  assert.equal(secureProxy.seen.length, 2)
})

test('this machine, and hosts in outbound_no_proxy, are reached directly', async () => {
  const permitted = { outbound_allow_private_networks: true }
  const local = createOutbound(read(permitted))
  for (const host of ['localhost', '127.0.0.1'])
    assert.equal(text(await local.get(`https://${host}:${port}/`)), 'hello')
  const named = createOutbound({
    ...read({ ...permitted, outbound_no_proxy: [`target.example:${port}`] }),
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  assert.equal(text(await named.get(target)), 'hello')
  assert.deepEqual(proxy.seen, [])
})

test('a setting replaces the variables of other programs, and direct ignores them', () => {
  const env = {
    HTTPS_PROXY: 'http://u:hunter2@a.example:1',
    http_proxy: 'http://b.example:2',
    NO_PROXY: 'x.example, <local>',
  }
  const names = (changes: Partial<OutboundSettings>, variables: Readonly<Record<string, string>>) => {
    const { proxy: found } = read(changes, variables)
    const select = (host: string, scheme: 'http' | 'tls') => found?.select({ host, port: 443, scheme })?.name
    return [select('c.example', 'tls'), select('c.example', 'http'), select('x.example', 'tls')]
  }
  const unset = { outbound_proxy: undefined }
  assert.deepEqual(names(unset, env), ['http://a.example:1', 'http://b.example:2', undefined])
  assert.deepEqual(names(unset, { HTTPS_PROXY: 'a.example:1', https_proxy: 'b.example:2' }), [
    'http://b.example:2',
    undefined,
    'http://b.example:2',
  ])
  assert.deepEqual(names({}, env), [proxy.url, proxy.url, proxy.url])
  assert.deepEqual(names({ outbound_proxy: 'direct' }, env), [undefined, undefined, undefined])
  assert.equal(read(unset, { NO_PROXY: '*' }).proxy, undefined)
  const { proxy: shared } = read({ ...unset, outbound_no_proxy: ['y.example'] }, env)
  assert.deepEqual(shared?.description, {
    proxy: 'http://a.example:1',
    proxy_for_http: 'http://b.example:2',
    from: 'HTTPS_PROXY, http_proxy',
    no_proxy: ['y.example', 'x.example'],
    ignored_in_no_proxy: ['<local>'],
    resolves_names: false,
  })
})

test('a proxy that cannot be used is refused by the setting or variable, without its password', () => {
  const refuse = (
    changes: Partial<OutboundSettings>,
    env: Readonly<Record<string, string>>,
    message: RegExp,
  ) =>
    assert.throws(
      () => read(changes, env),
      (error: unknown) => {
        assert.ok(error instanceof StartupError, String(error))
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /hunter2/)
        return true
      },
    )
  const unset = { outbound_proxy: undefined }
  refuse(
    unset,
    { HTTPS_PROXY: 'socks5://u:hunter2@a.example:1' },
    /^HTTPS_PROXY must be an address like .*; outbound_proxy = "direct" ignores it$/,
  )
  refuse(
    { outbound_proxy: 'ftp://u:hunter2@a.example' },
    {},
    /^outbound_proxy must be an address like [^;]*$/,
  )
  const file = { outbound_proxy_credentials_file: 'absent' }
  refuse(
    { ...unset, ...file },
    { HTTPS_PROXY: 'http://a.example:1' },
    /requires the address of a proxy in outbound_proxy/,
  )
  refuse({ outbound_proxy: 'direct', ...file }, {}, /requires the address of a proxy/)
  refuse({ outbound_proxy: 'http://u:hunter2@a.example:1', ...file }, {}, /use only one/)
  refuse(file, {}, /outbound_proxy_credentials_file: cannot read/)
  writeFileSync(join(folder, 'open'), 'a:b', { mode: 0o644 })
  refuse({ outbound_proxy_credentials_file: 'open' }, {}, /can be read by others/)
})
