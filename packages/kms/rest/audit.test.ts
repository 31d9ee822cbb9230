import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AuditEvent, createOwnEvent, openAuditLog } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { type Started, startKms } from '../testing/start.ts'

const path = '/v1/audit/records'

/** Writes records to the log that the service reads; its own ones go to memory. */
async function writeLog(kms: Started, events: readonly Partial<AuditEvent>[]): Promise<void> {
  const log = await openAuditLog({
    ...{ folder: join(kms.home, 'audit', 'kms'), service: 'kms', node: 'test', mode: 'continue' },
    ...{ rotateBytes: 1_000_000, clock: systemClock, log: quietLog, seal: kms.environment.seal },
  })
  for (const event of events) log.trail.record({ ...createOwnEvent(Date.now(), 'crypto.encrypt'), ...event })
  await log.trail.flush()
  await log.whenIdle()
  await log.close()
}

const officers = { 'roles.crypto_officer_users': ['olga'] }

test('who may read the audit log finds records by every filter, newest first, in pages', async () => {
  await using kms = await startKms({ config: officers })
  const olga = kms.user('olga')
  await writeLog(
    kms,
    Array.from({ length: 50 }, (_, index) => ({
      time: Date.parse('2026-01-01T00:00:00Z') + index * 1000,
      principal: index % 2 === 0 ? 'alice' : 'bob',
      operation: index % 5 === 0 ? 'crypto.sign' : 'crypto.encrypt',
      object: `key-${index % 7}`,
      client_ip: `192.0.2.${index % 3}`,
      request_id: `request-${index}`,
      outcome: index % 10 === 3 ? 'failure' : 'success',
      details: { note: index === 20 ? 'Needle in a haystack' : 'hay' },
    })),
  )
  const find = async (query: string) => {
    const { status, json } = await olga.get(`${path}?${query}`)
    assert.equal(status, 200, JSON.stringify(json))
    return json.records.map(({ request_id }: { request_id: string }) => Number(request_id.split('-')[1]))
  }
  const numbers = (test: (index: number) => boolean) =>
    Array.from({ length: 50 }, (_, index) => 49 - index).filter(test)
  assert.deepEqual(
    await find('principal=alice&operation=crypto.*'),
    numbers((index) => index % 2 === 0),
  )
  assert.deepEqual(
    await find('operation=crypto.sign'),
    numbers((index) => index % 5 === 0),
  )
  assert.deepEqual(
    await find('object=key-3'),
    numbers((index) => index % 7 === 3),
  )
  assert.deepEqual(
    await find('outcome=failure'),
    numbers((index) => index % 10 === 3),
  )
  assert.deepEqual(
    await find('address=192.0.2.1'),
    numbers((index) => index % 3 === 1),
  )
  assert.deepEqual(await find('request_id=request-17'), [17])
  assert.deepEqual(await find('text=needle%20in'), [20])
  assert.deepEqual(await find('since=2026-01-01T00:00:10Z&until=2026-01-01T00:00:13%2B00:00'), [12, 11, 10])
  let after: string | undefined
  const pages: number[] = []
  do {
    const { json, headers } = await olga.get(
      `${path}?operation=crypto.*&limit=20${after === undefined ? '' : `&after=${after}`}`,
    )
    pages.push(json.records.length)
    after = headers['x-next-after'] as string | undefined
    assert.deepEqual(json.nodes[0].problems, [])
  } while (after !== undefined)
  assert.deepEqual(pages, [20, 20, 10])
  const { json } = await olga.get(`${path}?request_id=request-17`)
  assert.equal(json.records[0].seq, 19)
  assert.match(json.records[0].hash, /^[0-9a-f]{64}$/)
  assert.deepEqual(
    json.nodes.map(({ node, answered }: { node: string; answered: boolean }) => [node, answered]),
    [['test', true]],
  )
})

test('without the right nothing is read, and the attempt is recorded with its filters', async () => {
  await using kms = await startKms({ config: officers })
  const [olga, bob] = [kms.user('olga'), kms.user('bob')]
  await writeLog(kms, [{ principal: 'alice' }])
  for (const query of ['', '?principal=alice', '?after=AAAA']) {
    const refused = await bob.get(`${path}${query}`)
    assert.deepEqual(
      [refused.status, refused.json],
      [403, { error: 'forbidden', description: 'Access denied.' }],
    )
  }
  assert.equal((await kms.user('admin').get(path)).status, 403)
  const grant = { user_id: 'bob', operation_types: ['audit'] }
  assert.equal((await bob.post('/access/grant', { ...grant, user_id: 'carl' })).status, 403)
  assert.equal((await olga.post('/access/grant', { ...grant, user_id: '*' })).status, 400)
  assert.equal((await olga.post('/access/grant', grant)).status, 200)
  assert.equal((await bob.get(path)).json.records.at(-1).operation, 'audit.checkpoint_key')
  // The right to read the log is no other right.
  assert.equal((await bob.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 403)
  assert.equal((await bob.get('/v1/external-stores')).status, 403)
  assert.equal((await olga.post('/access/revoke', grant)).status, 200)
  assert.equal((await bob.get(path)).status, 403)
  const reads = kms.audit.filter(({ operation }) => operation === 'audit.records')
  assert.deepEqual(
    reads.map(({ principal, status, details }) => [principal, status, details]),
    [
      ['bob', 403, { query: {} }],
      ['bob', 403, { query: { principal: 'alice' } }],
      ['bob', 403, { query: { after: 'AAAA' } }],
      ['admin', 403, { query: {} }],
      ['bob', 200, { query: {} }],
      ['bob', 403, { query: {} }],
    ],
  )
})

test('a malformed filter or cursor is refused by name', async () => {
  await using kms = await startKms()
  const admin = kms.user('admin')
  await writeLog(
    kms,
    Array.from({ length: 10 }, () => ({ principal: 'alice' })),
  )
  const { headers } = await admin.get(`${path}?limit=2&principal=alice`)
  const cursor = String(headers['x-next-after'])
  const forge = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const digest = JSON.parse(Buffer.from(cursor, 'base64url').toString())[1] as string
  for (const [query = '', word = ''] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=1e3', 'limit'],
    ['since=yesterday', 'since'],
    ['since=2026-01-01', 'since'],
    ['until=2026-13-01T00:00:00Z', 'until'],
    ['outcome=maybe', 'outcome'],
    ['principal=', 'principal'],
    [`text=${'a'.repeat(1025)}`, 'text'],
    ['colour=red', 'colour'],
    ['after=%00', 'U+0000'],
    [`principal=bob&after=${cursor}`, 'after'],
    [`after=${cursor}`, 'after'],
    [`principal=alice&after=${forge([1, digest, ['test', -1]])}`, 'after'],
    [`principal=alice&after=${forge([1, digest, ['test', 1.5]])}`, 'after'],
    [`principal=alice&after=${forge([1, digest, ['test', '5']])}`, 'after'],
    [`principal=alice&after=${forge([2, digest, ['test', 5]])}`, 'after'],
    [`principal=alice&after=${forge({ length: 3 })}`, 'after'],
    [`principal=alice&after=${forge([1, digest, { 0: 'test', 1: 5, length: 2 }])}`, 'after'],
  ]) {
    const { status, json } = await admin.get(`${path}?${query}`)
    assert.equal(status, 400, query)
    assert.ok(json.description.includes(word), json.description)
  }
  // A number beyond the log begins at its end, and one before it has nothing.
  const far = await admin.get(`${path}?principal=alice&after=${forge([1, digest, ['test', 2 ** 50]])}`)
  assert.equal(far.json.records.length, 10)
  const none = await admin.get(`${path}?principal=alice&after=${forge([1, digest, ['test', 1]])}`)
  assert.deepEqual([none.json.records, none.headers['x-next-after']], [[], undefined])
})
