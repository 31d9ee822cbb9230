import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { createOutbound } from '@warder/outbound'
import { ensureLocalAuthority } from '../tls/local-authority.ts'
import { createHeldClock, createHeldLog, createJwkSet, ec, type NamedPair } from './fixtures/tokens.ts'
import { createInlineKeySet, createRemoteKeySet, openFileKeySet } from './key-sets.ts'
import { signToken, verifyToken } from './token.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-keys-'))
const [one, two] = [
  { ...ec(), kid: 'one' },
  { ...ec(), kid: 'two' },
]

let url = ''
let requests: { readonly method: string | undefined; readonly accept: string | undefined }[] = []
let answer: RequestListener
let close: () => void = () => undefined

/** The server answers with these pairs from now on. */
const serve = (...pairs: readonly NamedPair[]) => {
  const body = JSON.stringify(createJwkSet(...pairs))
  answer = (_, response) => response.end(body)
}

before(async () => {
  await ensureLocalAuthority({
    folder,
    clock: systemClock,
    certificates: [{ name: 'server', commonName: 'Server' }],
  })
  const server = createServer(
    { cert: readFileSync(join(folder, 'server.crt')), key: readFileSync(join(folder, 'server.key')) },
    (request, response) => {
      requests.push({ method: request.method, accept: request.headers.accept })
      answer(request, response)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  close = () => {
    server.closeAllConnections()
    server.close()
  }
})
after(() => {
  close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  requests = []
  serve(one)
})

interface RemoteOptions {
  minRefreshSeconds?: number
  waitAfterSeconds?: number
  timeoutMs?: number
  maxBytes?: number
}

function remote(more: RemoteOptions = {}) {
  const { timeoutMs = 2000, maxBytes = 10_000, ...throttle } = more
  const clock = createHeldClock()
  const log = createHeldLog()
  const caFile = join(folder, 'ca.crt')
  const outbound = createOutbound({
    proxy: undefined,
    allowPrivateNetworks: true,
    caFile,
    timeoutMs,
    maxBytes,
  })
  const keys = createRemoteKeySet({ url, outbound, clock, log, ...throttle })
  return { clock, log, has: async (kid: string | undefined) => (await keys.find(kid)).length > 0, keys }
}

test('a remote set is fetched when it is first needed, once for all who wait, and then kept', async () => {
  const { has, keys } = remote()
  assert.equal(requests.length, 0)
  assert.deepEqual(await Promise.all([has('one'), has('one'), has(undefined), has('one')]), [
    true,
    true,
    true,
    true,
  ])
  assert.deepEqual(requests, [{ method: 'GET', accept: 'application/jwk-set+json, application/json' }])
  for (let index = 0; index < 100; index += 1) assert.equal((await keys.find('one')).length, 1)
  assert.equal(requests.length, 1)
})

test('an unknown kid asks again, at most once in the smallest interval', async () => {
  const { clock, has } = remote({ minRefreshSeconds: 60 })
  assert.ok(await has('one'))
  serve(one, two)
  for (let index = 0; index < 50; index += 1) assert.equal(await has(`unknown ${index}`), false)
  assert.equal(await has('two'), false, 'throttled')
  assert.equal(requests.length, 1)
  clock.advance(59.999)
  assert.equal(await has('two'), false)
  clock.advance(0.001)
  assert.ok(await has('two'))
  assert.equal(requests.length, 2)
  for (let index = 0; index < 50; index += 1) assert.equal(await has(`unknown ${index}`), false)
  assert.equal(requests.length, 2)
})

test('a token without kid whose key is new makes the set ask again, at most once in the smallest interval', async () => {
  const { clock, keys } = remote({ minRefreshSeconds: 60 })
  const now = Math.floor(clock.now() / 1000)
  const expected = { issuer: undefined, audience: undefined, requiredClaims: [], leewaySeconds: 0 }
  const token = signToken({ alg: 'ES256' }, { exp: now + 36_000 }, two.privateKey)
  const verify = () => verifyToken(token, keys, expected, clock)
  await assert.rejects(verify(), /signature/)
  serve(one, two)
  await assert.rejects(verify(), /signature/)
  assert.equal(requests.length, 1)
  clock.advance(61)
  await verify()
  assert.equal(requests.length, 2)
})

test('callers that come together with a new kid all get it from one request', async () => {
  const { clock, has } = remote()
  assert.ok(await has('one'))
  serve(one, two)
  clock.advance(60)
  assert.deepEqual(await Promise.all([has('two'), has('two'), has('three'), has('two')]), [
    true,
    true,
    false,
    true,
  ])
  assert.equal(requests.length, 2)
})

test('a key that was withdrawn is gone after an hour, though every kid is known', async () => {
  const { clock, has } = remote()
  serve(one, two)
  assert.ok(await has('two'))
  serve(one)
  clock.advance(3599)
  assert.ok(await has('two'))
  clock.advance(1)
  assert.equal(await has('two'), false)
  assert.ok(await has('one'))
  assert.equal(requests.length, 2)
})

const failures: readonly (readonly [string, RequestListener])[] = [
  ['an error', (_, response) => response.writeHead(500).end('{"keys":[]}')],
  ['nothing at all', (request) => request.destroy()],
  ['what is not JSON', (_, response) => response.end('<html></html>')],
  ['what is no key set', (_, response) => response.end('{"error":"none"}')],
  ['a member twice', (_, response) => response.end('{"keys":[],"keys":[]}')],
  ['a huge body', (_, response) => response.end(`{"keys":[],"x":"${'x'.repeat(20_000)}"}`)],
  [
    'a huge body piece by piece',
    (_, response) => {
      response.write('{"keys":[],"x":"')
      for (let index = 0; index < 20; index += 1) response.write('x'.repeat(1000))
      response.end('"}')
    },
  ],
  [
    'a redirect',
    (request, response) => {
      if (request.url === '/keys') response.writeHead(302, { location: '/others' }).end()
      else response.end(JSON.stringify(createJwkSet({ ...ec(), kid: 'unknown' })))
    },
  ],
]
for (const [what, listener] of failures) {
  test(`${what} leaves the keys that were fetched before, and is not asked for again at once`, async () => {
    const { clock, has, log } = remote()
    assert.ok(await has('one'))
    answer = listener
    clock.advance(60)
    assert.equal(await has('unknown'), false)
    assert.ok(await has('one'))
    assert.equal(await has('unknown'), false)
    // A request that finds its kept connection ended goes out once more, over a new one.
    const sent = what === 'nothing at all' ? 3 : 2
    assert.equal(requests.length, sent, 'no redirect is followed')
    assert.deepEqual(log.warnings, ['the key set cannot be fetched; the previous keys stay in use'])
    serve(two)
    clock.advance(60)
    assert.ok(await has('two'))
  })
}

test('a withdrawn key does not stay for another hour when the question about it failed once', async () => {
  const { clock, has } = remote()
  serve(one, two)
  assert.ok(await has('two'))
  answer = (_, response) => response.writeHead(500).end()
  clock.advance(3600)
  assert.ok(await has('two'), 'what was there stays')
  serve(one)
  clock.advance(60)
  assert.equal(await has('two'), false)
})

test('a server that never answers is given up, and known keys work meanwhile', async () => {
  const { clock, has, log } = remote({ timeoutMs: 150 })
  assert.ok(await has('one'))
  answer = () => undefined
  clock.advance(60)
  const waiting = has('unknown')
  assert.ok(await has('one'), 'no caller with a known key waits')
  assert.deepEqual(log.warnings, [])
  assert.equal(await waiting, false)
  assert.equal(log.warnings.length, 1)
})

test('without any keys nothing is found, and the first fetch is tried again after five seconds', async () => {
  const { clock, has } = remote()
  answer = (_, response) => response.writeHead(503).end()
  for (let index = 0; index < 10; index += 1) assert.equal(await has('one'), false)
  assert.equal(requests.length, 1)
  serve(one)
  clock.advance(4.999)
  assert.equal(await has('one'), false)
  clock.advance(0.001)
  assert.ok(await has('one'))
  assert.equal(requests.length, 2)
})

test('with a time to wait after, known keys are used while they are fetched again', async () => {
  const { clock, has } = remote({ waitAfterSeconds: 7200 })
  serve(one, two)
  assert.ok(await has('two'))
  serve(one)
  clock.advance(3600)
  assert.ok(await has('two'), 'no caller waits')
  assert.equal(await has('unknown'), false, 'waits for the one under way')
  assert.equal(await has('two'), false)
  assert.ok(await has('one'))
  serve(two)
  clock.advance(7200)
  assert.equal(await has('one'), false, 'the last success is too old: this caller waited')
  assert.equal(requests.length, 3)
})

test('with a time to wait after, one caller waits for an issuer that does not answer, and no other does', async () => {
  const { clock, has, log } = remote({ waitAfterSeconds: 7200 })
  assert.ok(await has('one'))
  answer = (_request, response) => response.writeHead(503).end()
  clock.advance(7200)
  assert.ok(await has('one'))
  assert.equal(log.warnings.length, 1, 'it waited for the answer')
  clock.advance(60)
  assert.ok(await has('one'))
  assert.equal(log.warnings.length, 1, 'it did not wait')
  assert.equal(await has('unknown'), false)
  assert.equal(log.warnings.length, 2)
  clock.advance(30 * 86_400)
  assert.ok(await has('one'), 'the last good set survives')
  assert.equal(await has('unknown'), false)
  assert.equal(requests.length, 4)
})

test('a server whose certificate is not trusted gives no keys', async () => {
  const log = createHeldLog()
  const outbound = createOutbound({ proxy: undefined, allowPrivateNetworks: true })
  const keys = createRemoteKeySet({ url, outbound, clock: createHeldClock(), log })
  assert.deepEqual(await keys.find('one'), [])
  assert.equal(requests.length, 0)
  assert.equal(log.warnings.length, 1)
})

test('inline keys are found by kid, or all without one', async () => {
  const keys = createInlineKeySet(createJwkSet(one, two))
  assert.deepEqual(
    (await keys.find('two')).map(({ kid }) => kid),
    ['two'],
  )
  assert.deepEqual(
    (await keys.find(undefined)).map(({ kid }) => kid),
    ['one', 'two'],
  )
  assert.deepEqual(await keys.find('three'), [])
})

/** Puts a file in place as tools do: written beside, then renamed. */
function place(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

test('a key set file is read again when it changed, looked at once a second at most', async () => {
  const path = join(folder, 'changing.json')
  const clock = createHeldClock()
  place(path, JSON.stringify(createJwkSet(one)))
  const keys = openFileKeySet(path, clock, createHeldLog())
  const has = async (kid: string) => (await keys.find(kid)).length > 0
  assert.deepEqual([await has('one'), await has('two')], [true, false])
  place(path, JSON.stringify(createJwkSet(two)))
  clock.advance(0.999)
  assert.deepEqual([await has('one'), await has('two')], [true, false])
  clock.advance(0.001)
  assert.deepEqual([await has('one'), await has('two')], [false, true])
})

test('a key set file that breaks or goes away leaves the keys that were read before', async () => {
  const path = join(folder, 'breaking.json')
  const clock = createHeldClock()
  const log = createHeldLog()
  place(path, JSON.stringify(createJwkSet(one)))
  const keys = openFileKeySet(path, clock, log)
  const steps = [
    () => place(path, '{"keys":'),
    () => place(path, '{"keys":{}}'),
    () => place(path, `{"keys":[],"x":"${'x'.repeat(1_048_577)}"}`),
    () => rmSync(path),
  ]
  for (const [index, step] of steps.entries()) {
    step()
    clock.advance(1)
    assert.equal((await keys.find('one')).length, 1)
    assert.equal(log.warnings.length, index + 1)
  }
  place(path, JSON.stringify(createJwkSet(two)))
  clock.advance(1)
  assert.equal((await keys.find('two')).length, 1)
  assert.equal((await keys.find('one')).length, 0)
})

test('a key set file that cannot be used stops the start with a line that names it', () => {
  const path = join(folder, 'unusable.json')
  const stops = () =>
    assert.throws(
      () => openFileKeySet(path, createHeldClock(), createHeldLog()),
      (error: unknown) => {
        assert.ok(error instanceof StartupError, String(error))
        assert.ok(error.message.includes(path), error.message)
        assert.ok(!error.message.includes('\n') && !error.message.includes('hunter2'), error.message)
        return true
      },
    )
  stops()
  for (const text of [
    '',
    'hunter2',
    '[]',
    '{}',
    '{"keys":{}}',
    '{"keys":[],"keys":[]}',
    `{"keys":[${' '.repeat(1_048_577)}]}`,
  ]) {
    place(path, text)
    stops()
  }
  rmSync(path)
})
