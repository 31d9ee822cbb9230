import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { authClient, kmsClient } from './browser.ts'
import { ClientError } from './error.ts'
import type { KmsClientOptions } from './kms-client.ts'
import { type Answer, type FakeService, fakeService, json } from './testing/fake-service.ts'

let service: FakeService
const authorities = tls.getCACertificates('default')
before(async () => {
  service = await fakeService()
  // A page trusts the authorities of its browser; in this test they are those of the process.
  tls.setDefaultCACertificates([service.ca])
})
after(async () => {
  tls.setDefaultCACertificates(authorities)
  await service[Symbol.asyncDispose]()
})

function client(options: Partial<KmsClientOptions> = {}) {
  service.received.length = 0
  return kmsClient({ url: service.url, credentials: { bearer: 'a.b.c' }, retries: 0, ...options })
}

const catchKind = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof ClientError ? error.kind : error),
  )

test('the entry for browsers imports no module of Node and no other package', () => {
  const folder = import.meta.dirname
  const seen = new Set<string>()
  const follow = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/from '([^']+)'|import\('([^']+)'/g)) {
      assert.match(target, /^\.\//, `${file} imports ${target}`)
      follow(join(dirname(file), target))
    }
  }
  follow(join(folder, 'browser.ts'))
  assert.ok(seen.size > 5 && seen.size < globSync('*.ts', { cwd: folder }).length)
  for (const file of seen) assert.doesNotMatch(readFileSync(file, 'utf8'), /\bBuffer\b|\bprocess\./, file)
})

test('a call sends method, target, headers and body, and returns the reply', async () => {
  const kms = client()
  service.answer(json(200, { protected: 'a', signature: 'b' }))
  const body = { kid: 'k', alg: 'ES256', data: 'aGk' }
  assert.deepEqual(await kms.call('crypto.sign', { body }), { protected: 'a', signature: 'b' })
  const [sent] = service.received
  assert.deepEqual(
    [sent?.method, sent?.target, sent?.body, sent?.headers.authorization, sent?.headers['content-type']],
    ['POST', '/v1/crypto/sign', JSON.stringify(body), 'Bearer a.b.c', 'application/json'],
  )
  service.answer(json(200, [], { 'x-next-after': 'b%2Fc' }))
  assert.deepEqual(await kms.page('access.obtained'), { rows: [], next: 'b/c' })
  service.answer(json(204, undefined))
  assert.equal(await kms.call('crypto.keys.destroy', { path: { kid: 'k' } }), undefined)
  const refusal = { error: 'rate_limited', description: 'Wait.' }
  service.answer(json(429, refusal, { 'retry-after': '7', 'x-request-id': 'r-1' }))
  await assert.rejects(kms.call('server.me'), {
    ...{ kind: 'rate_limited', retryAfter: 7, requestId: 'r-1' },
  })
  kms.close()
})

test('redirects are not followed: credentials are sent only to the service', async () => {
  await using other = await fakeService()
  const kms = client()
  for (const status of [301, 302, 307, 308]) {
    service.answer(json(status, undefined, { location: `${other.url}/` }))
    assert.equal(await catchKind(kms.call('server.me')), 'unexpected_reply')
  }
  assert.equal(other.received.length, 0)
})

test('a call fails when the service is silent, too slow, breaks off or sends too much', async () => {
  const kms = client({ timeoutMs: 80, maxAnswerBytes: 100 })
  service.answer(() => undefined)
  assert.equal(await catchKind(kms.call('version')), 'timeout')
  service.answer((response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(drip))
  })
  assert.equal(await catchKind(kms.call('version')), 'timeout')
  service.answer((response) => {
    response.writeHead(200, { 'content-length': '90' })
    response.write('"half', () => response.socket?.destroy())
  })
  assert.equal(await catchKind(kms.call('version')), 'unreachable')
  const inParts: Answer = (response) => {
    response.writeHead(200).write('x'.repeat(60))
    response.end('x'.repeat(60))
  }
  for (const answer of [json(200, 'x'.repeat(200)), inParts]) {
    service.answer(answer)
    await assert.rejects(kms.call('version'), {
      kind: 'unexpected_reply',
      description: `${service.url} sent more than 100 bytes`,
    })
  }
})

test('a service that the browser does not trust receives no data', async () => {
  const kms = client()
  tls.setDefaultCACertificates([])
  try {
    await using untrusted = await fakeService()
    assert.equal(await catchKind(client({ url: untrusted.url }).call('version')), 'unreachable')
    assert.equal(untrusted.received.length, 0)
  } finally {
    tls.setDefaultCACertificates([service.ca])
  }
  kms.close()
})

test('close aborts running calls and those that wait for a connection', async () => {
  const kms = client({ maxConnections: 1 })
  service.answer(() => undefined)
  const calls = [1, 2, 3].map(() => catchKind(kms.call('version')))
  while (service.received.length === 0) await sleep(5)
  kms.close()
  assert.deepEqual(await Promise.all(calls), Array(3).fill('closed'))
  assert.equal(service.received.length, 1)
})

test('options that a browser decides by itself are refused', () => {
  const { url, ca, client: certificate } = service
  const refused = (make: () => unknown, message: RegExp) =>
    assert.throws(make, { name: 'TypeError', message })
  refused(() => kmsClient({ url, ca }), /omit ca/)
  refused(() => kmsClient({ url, serverName: 'kms' }), /omit serverName/)
  refused(() => kmsClient({ url, credentials: { certificate } }), /omit certificate/)
  refused(() => authClient({ url, credentials: { session: 'a' } }), /omit session/)
  refused(() => kmsClient({ url: 'http://h' }), /https/)
})
