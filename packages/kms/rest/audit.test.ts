import assert from 'node:assert/strict'
import { createHash, createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type AuditEvent,
  createOwnEvent,
  openAuditLog,
  preparedCommitMigrations,
  readNodeKey,
  rememberHead,
  rememberNode,
} from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { createAuditSearch } from '@warder/runtime'
import { migrate, openSqlite } from '@warder/storage'
import { bothEngines } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'

const path = '/v1/audit/records'

/** Writes records to the log that the service reads; its own ones go to memory. */
async function writeLog(kms: Started, events: readonly Partial<AuditEvent>[]): Promise<void> {
  const log = await openAuditLog({
    ...{
      folder: join(kms.home, 'audit', 'kms'),
      service: 'kms',
      mode: 'continue',
      node: kms.environment.node,
    },
    ...{ rotateBytes: 1_000_000, clock: systemClock, log: quietLog, seal: kms.environment.seal },
  })
  for (const event of events) log.trail.record({ ...createOwnEvent(Date.now(), 'crypto.encrypt'), ...event })
  await log.trail.flush()
  await log.whenIdle()
  await log.close()
}

const officers = { 'roles.crypto_officer_users': ['olga'] }

test('users with the right audit find records by every filter, newest first, in pages', async () => {
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

test('a request without the right gets no records, and is recorded with its filters', async () => {
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

test('records are counted by hour and day with every filter, for those who may read them', async () => {
  await using kms = await startKms({ config: officers })
  const olga = kms.user('olga')
  const begin = Date.parse('2026-01-01T00:30:00Z')
  await writeLog(
    kms,
    Array.from({ length: 60 }, (_, index) => ({
      time: begin + index * 3_600_000,
      principal: index % 2 === 0 ? 'alice' : 'bob',
      operation: 'crypto.sign',
      outcome: index % 10 === 3 ? 'failure' : 'success',
    })),
  )
  const counts = '/v1/audit/counts'
  const count = async (query: string) => {
    const { status, json, text, headers } = await olga.get(`${counts}?operation=crypto.sign&${query}`)
    assert.equal(status, 200, text)
    assert.equal(headers['x-next-after'], undefined)
    assert.deepEqual(
      json.nodes.map((each: AuditNode) => [each.node, each.answered, each.problems]),
      [['test', true, []]],
    )
    return json.buckets.map((each: { start: string; records: number; failures: number }) => [
      ...[each.start, each.records, each.failures],
    ])
  }
  const day = (number: number) => `2026-01-0${number}T00:00:00.000Z`
  const all = [
    [day(1), 24, 3],
    [day(2), 24, 2],
    [day(3), 12, 1],
  ]
  assert.deepEqual(await count('since=2026-01-01T00:00:00Z&step=day'), all)
  assert.deepEqual(await count('since=2026-01-01T00:00:00Z&step=day&principal=bob'), [
    [day(1), 12, 3],
    [day(2), 12, 2],
    [day(3), 6, 1],
  ])
  assert.deepEqual(await count('since=2026-01-01T02:00:00Z&until=2026-01-01T04:00:00Z'), [
    ['2026-01-01T02:00:00.000Z', 1, 0],
    ['2026-01-01T03:00:00.000Z', 1, 1],
  ])
  assert.deepEqual(await count('since=2026-01-03T00:00:00Z&step=day&outcome=failure'), [[day(3), 1, 1]])
  // Without an end, as many intervals as are permitted.
  assert.deepEqual((await count('since=2025-11-20T20:00:00Z')).length, 12)
  for (const [query = '', word = ''] of [
    ['', 'since'],
    ['since=today', 'since'],
    ['since=2026-01-01T00:00:00Z&step=minute', 'step'],
    ['since=2026-01-01T00:00:00Z&until=2026-06-01T00:00:00Z', 'step=day'],
    ['since=2026-01-01T00:00:00Z&until=2036-06-01T00:00:00Z&step=day', 'ask for less'],
    // 1000 hours, which 1001 intervals contain.
    ['since=2026-01-01T00:30:00Z&until=2026-02-11T16:30:00Z', 'step=day'],
    ['since=2026-01-01T00:00:00Z&after=AAAA', 'after'],
    ['since=2026-01-01T00:00:00Z&limit=5', 'limit'],
  ]) {
    const { status, json } = await olga.get(`${counts}?${query}`)
    assert.equal(status, 400, query)
    assert.ok(json.description.includes(word), json.description)
  }
  const refused = await kms.user('bob').get(`${counts}?since=2026-01-01T00:00:00Z`)
  assert.deepEqual([refused.status, refused.json.error], [403, 'forbidden'])
  const reads = kms.audit.filter(({ operation }) => operation === 'audit.counts')
  assert.deepEqual(
    [reads.at(-1)?.principal, reads.at(-1)?.details],
    ['bob', { query: { since: '2026-01-01T00:00:00Z' } }],
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
    [`principal=alice&after=${forge([1, digest, ['', -1]])}`, 'after'],
    [`principal=alice&after=${forge([1, digest, ['', 1.5]])}`, 'after'],
    [`principal=alice&after=${forge([1, digest, ['', '5']])}`, 'after'],
    [`principal=alice&after=${forge([2, digest, ['', 5]])}`, 'after'],
    [`principal=alice&after=${forge({ length: 3 })}`, 'after'],
    [`principal=alice&after=${forge([1, digest, { 0: 'test', 1: 5, length: 2 }])}`, 'after'],
  ]) {
    const { status, json } = await admin.get(`${path}?${query}`)
    assert.equal(status, 400, query)
    assert.ok(json.description.includes(word), json.description)
  }
  // A number beyond the log begins at its end, and one before it has nothing.
  const far = await admin.get(`${path}?principal=alice&after=${forge([1, digest, ['', 2 ** 50]])}`)
  assert.equal(far.json.records.length, 10)
  const none = await admin.get(`${path}?principal=alice&after=${forge([1, digest, ['', 1]])}`)
  assert.deepEqual([none.json.records, none.headers['x-next-after']], [[], undefined])
})

test('an export has all matching records in each format, without formulas or line breaks of a caller', async () => {
  await using kms = await startKms()
  const admin = kms.user('admin')
  const hostile = [
    '=HYPERLINK("http://evil")',
    '+1',
    '-1',
    '@SUM(A1)',
    ' =1+1',
    '\t=1',
    '\r\n"quoted", and, commas\nsecond line',
    'CEF:0|Warder|x|1|a|b|3|src=1 cs1=forged',
    '\u202eevil',
    '{"hash":"x"}',
  ]
  await writeLog(
    kms,
    Array.from({ length: 2500 }, (_, index) => ({
      principal: hostile[index % hostile.length] ?? '',
      object: hostile[(index + 1) % hostile.length] ?? '',
      operation: 'crypto.sign',
      details: { [hostile[(index + 2) % hostile.length] ?? '']: hostile[(index + 3) % hostile.length] },
    })),
  )
  const fetch = async (query: string) => {
    const { status, text, headers } = await admin.get(`/v1/audit/export?operation=crypto.sign${query}`)
    assert.equal(status, 200, text)
    return { text, type: headers['content-type'] }
  }
  const json = await fetch('')
  const records = json.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(json.type, 'application/x-ndjson')
  assert.equal(records.length, 2500)
  assert.deepEqual(new Set(records.map(({ principal }) => principal)), new Set(hostile))
  const cef = await fetch('&format=cef')
  const lines = cef.text.trimEnd().split('\n')
  assert.equal(lines.length, 2500)
  for (const line of lines)
    assert.match(line, /^CEF:0\|Warder\|kms\|1\|crypto\.sign\|crypto\.sign\|3\|rt=\d+ src=/)
  for (const line of lines) assert.equal(line.match(/(?<!\\)\bcs1=/g)?.length, 1)
  const csv = await fetch('&format=csv')
  const rows = csv.text.trimEnd().split('\r\n')
  assert.equal(rows.length, 2501)
  assert.match(rows[0] ?? '', /^time,node,service,seq,operation,/)
  for (const row of rows.slice(1)) {
    const cells = [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
    )
    assert.equal(cells.length, 19, row)
    for (const cell of cells) assert.doesNotMatch(cell, /^\s*[=+\-@]|[\r\n\t\u202e]/u)
  }
  const none = await admin.get('/v1/audit/export?principal=nobody&format=csv')
  assert.equal(none.text.trimEnd().split('\r\n').length, 1)
  assert.equal((await admin.get('/v1/audit/export?format=xml')).status, 400)
  assert.equal((await kms.user('bob').get('/v1/audit/export')).status, 403)
  assert.equal((await admin.call('HEAD', '/v1/audit/export')).text, '')
})

test('a verification reports the place that was changed', async () => {
  await using kms = await startKms()
  const admin = kms.user('admin')
  await writeLog(
    kms,
    Array.from({ length: 20 }, () => ({ principal: 'alice' })),
  )
  const whole = (await admin.get('/v1/audit/verify')).json
  assert.deepEqual([whole.ok, whole.nodes[0].records, whole.nodes[0].head.seq], [true, 21, 21])
  const [file = ''] = readdirSync(join(kms.home, 'audit', 'kms')).filter((name) => name.endsWith('.jsonl'))
  const path = join(kms.home, 'audit', 'kms', file)
  const lines = readFileSync(path, 'utf8').split('\n')
  lines[9] = String(lines[9]).replace('alice', 'mallory')
  writeFileSync(path, lines.join('\n'))
  const { status, json } = await admin.get('/v1/audit/verify')
  assert.deepEqual(
    [status, json.ok, json.nodes[0].broken.file, json.nodes[0].broken.line],
    [200, false, file, 10],
  )
  assert.equal((await kms.user('bob').get('/v1/audit/verify')).status, 403)
  const search = createAuditSearch(kms.environment, 'kms')
  const [one, other] = await Promise.allSettled([search.verify(), search.verify()])
  await search.close()
  assert.equal(one.status, 'fulfilled')
  // 409.
  assert.equal(other.status === 'rejected' && other.reason.kind, 'conflict')
})

for (const engine of await bothEngines())
  test(`nodes on ${engine.name} answer for their logs, and those that do not are named`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const rootKey = randomBytes(32)
    const [one, other] = [await engine.open(url), await engine.open(url)]
    await migrate(one, 'audit', preparedCommitMigrations)
    const config = { outbound_ca_file: 'tls/ca.crt', database_url: url }
    await using near = await startKms({ db: one, rootKey, node: 'near', config })
    const far = await startKms({ db: other, rootKey, node: 'far', config })
    let isUp = true
    try {
      const logs = { near: `near:${near.home}`, far: `far:${far.home}` }
      const remember = (node: string, address: string, log = `${node}:home`) =>
        one.commit(rememberNode({ log, node, address }, Date.now(), near.environment.seal))
      await remember('near', `https://localhost:${near.port}`, logs.near)
      await remember('far', `https://localhost:${far.port}/`, logs.far)
      const times = (offset: number) =>
        Array.from({ length: 30 }, (_, index) => ({
          time: Date.parse('2026-01-01T00:00:00Z') + index * 2000 + offset,
          operation: 'crypto.sign',
          request_id: `${offset}-${index}`,
        }))
      await writeLog(near, times(0))
      await writeLog(far, times(1000))
      const admin = near.user('admin')
      const readAll = async () => {
        const found: string[] = []
        let after = ''
        for (let pages = 0; pages < 30; pages += 1) {
          const { status, json, headers } = await admin.get(`${path}?operation=crypto.sign&limit=7${after}`)
          assert.equal(status, 200)
          found.push(...json.records.map(({ time }: { time: string }) => time))
          if (headers['x-next-after'] === undefined) return { found, nodes: json.nodes }
          after = `&after=${headers['x-next-after']}`
        }
        return assert.fail('the pages have no end')
      }
      const both = await readAll()
      assert.equal(both.found.length, 60)
      assert.deepEqual(both.found, both.found.toSorted().reverse())
      const first = (await admin.get(path)).json.nodes
      assert.deepEqual(
        first.map(({ node, answered, problems, head }: AuditNode) => [node, answered, problems, head?.seq]),
        [
          ['far', true, [], 31],
          ['near', true, [], 31],
        ],
      )
      const counted = await admin.get('/v1/audit/counts?operation=crypto.sign&since=2026-01-01T00:00:00Z')
      assert.deepEqual(counted.json.buckets, [
        { start: '2026-01-01T00:00:00.000Z', records: 60, failures: 0 },
      ])
      const verified = (await admin.get('/v1/audit/verify')).json
      assert.deepEqual(
        [verified.ok, verified.nodes.map(({ node }: AuditNode) => node)],
        [true, ['far', 'near']],
      )
      const exported = await admin.get('/v1/audit/export?operation=crypto.sign')
      assert.equal(exported.text.trimEnd().split('\n').length, 60)
      // The other node recorded who asked, and what.
      const asked = far.audit.find(({ operation }) => operation === 'audit.node')
      assert.deepEqual(
        [asked?.principal, asked?.auth_method, asked?.outcome],
        ['node', 'audit_node', 'success'],
      )
      // A log that ends before what the database recorded.
      await one.commit([rememberHead(logs.far, { seq: 1000, hash: 'ff' })])
      const [short] = (await admin.get(path)).json.nodes
      assert.match(short.problems.join(), /ends with record 31, which is not what the database recorded/)
      await remember('mute', '')
      await remember('gone', 'https://localhost:1')
      const named = (await admin.get(`${path}?limit=1`)).json.nodes
      assert.deepEqual(
        named.map(({ node, answered }: AuditNode) => [node, answered]),
        [
          ['far', true],
          ['gone', false],
          ['mute', false],
          ['near', true],
        ],
      )
      assert.match(named[2].reason, /node_url is not set/)
      const refused = await admin.get('/v1/audit/export')
      assert.deepEqual([refused.status, refused.json.error], [502, 'bad_gateway'])
      assert.match(refused.json.description, /gone, mute/)
      const partial = await admin.get('/v1/audit/export?partial=true&operation=crypto.sign')
      assert.equal(partial.headers['x-audit-missing-nodes'], 'gone, mute')
      assert.equal(partial.text.trimEnd().split('\n').length, 60)

      // Only a node can send this request: this node, with this body, at this time.
      const key = await readNodeKey(one, near.environment.seal)
      assert.ok(key !== undefined)
      const body = { type: 'search', limit: 1 }
      const ask = async (header: string | undefined, json: unknown = body) =>
        (
          await near
            .with(header === undefined ? {} : { 'x-warder-audit-node': header })
            .post('/v1/audit/node', json)
        ).status
      const prove = (log: string, at = Date.now(), by = key) => {
        const [time, nonce] = [String(at), randomBytes(16).toString('base64url')]
        const digest = createHash('sha256').update(JSON.stringify(body)).digest('hex')
        const proof = createHmac('sha256', by)
          .update(JSON.stringify(['warder audit node 1', log, time, nonce, digest]))
          .digest('base64url')
        return `${time}.${nonce}.${proof}`
      }
      assert.equal(await ask(prove(logs.near)), 200)
      assert.equal(await ask(prove(logs.far)), 401)
      assert.equal(await ask(prove(logs.near, Date.now() - 120_000)), 401)
      assert.equal(await ask(prove(logs.near, Date.now(), createSecretKey(randomBytes(32)))), 401)
      assert.equal(await ask(prove(logs.near), { ...body, limit: 2 }), 401)
      assert.equal(await ask(undefined), 401)
      assert.equal(await ask('...'), 401)
      assert.equal((await near.user('admin').post('/v1/audit/node', body)).status, 401)

      // A node that answers stays, and a node is not another one of its name.
      const forget = async (node: string, by = admin) => (await by.del(`/v1/audit/nodes/${node}`)).status
      for (const node of ['near', 'far']) assert.equal(await forget(node), 409)
      assert.deepEqual([await forget('unknown'), await forget('gone', near.user('bob'))], [404, 403])
      await remember('near', `https://localhost:${near.port}`, 'near:/another/home')
      await remember('far', `https://localhost:${near.port}`, 'far:/another/home')
      const doubled = (await admin.get(`${path}?operation=crypto.sign&limit=100`)).json
      assert.equal(doubled.records.length, 60)
      assert.deepEqual(
        doubled.nodes
          .filter(({ node }: AuditNode) => node === 'near' || node === 'far')
          .map(({ node, answered, problems }: AuditNode) => [
            node,
            answered,
            /2 nodes have the name/.test(problems.join()),
          ])
          .sort(),
        [
          ['far', false, true],
          ['far', true, true],
          ['near', false, true],
          ['near', true, true],
        ],
      )
      for (const node of ['near', 'far', 'mute', 'gone']) assert.equal(await forget(node), 204, node)
      const { nodes } = (await admin.get(`${path}?limit=1`)).json
      assert.deepEqual(
        nodes.map(({ node, answered }: AuditNode) => [node, answered]),
        [
          ['far', true],
          ['near', true],
        ],
      )
      const forgotten = near.audit.filter(({ operation }) => operation === 'audit.nodes.forget')
      assert.deepEqual(
        forgotten.slice(-1).map(({ principal, object, status }) => [principal, object, status]),
        [['admin', 'gone', 204]],
      )

      isUp = false
      await far[Symbol.asyncDispose]()
      const alone = await readAll()
      assert.equal(alone.found.length, 30)
      assert.deepEqual(
        alone.nodes.filter(({ answered }: AuditNode) => answered).map(({ node }: AuditNode) => node),
        ['near'],
      )
      assert.equal((await admin.get('/v1/audit/verify')).json.ok, false)
    } finally {
      if (isUp) await far[Symbol.asyncDispose]()
    }
  })

test('a node that lies is named, and changes neither the records of others nor the form of an answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-liar-'))
  const db = openSqlite({ path: join(folder, 'shared.db') })
  await migrate(db, 'audit', preparedCommitMigrations)
  const config = { outbound_ca_file: 'tls/ca.crt', database_url: `sqlite:${join(folder, 'shared.db')}` }
  await using kms = await startKms({ db, node: 'near', config })
  const [cert, key] = ['kms.crt', 'kms.key'].map((name) => readFileSync(join(kms.home, 'tls', name)))
  let body = ''
  const liar = createServer({ cert, key }, (_request, response) => response.end(body))
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = liar.address() as AddressInfo
    for (const [node, home, address] of [
      ['liar', '/elsewhere', `https://localhost:${port}`],
      ['near', kms.home, ''],
    ] as const)
      await db.commit(
        rememberNode({ log: `${node}:${home}`, node, address }, Date.now(), kms.environment.seal),
      )
    await writeLog(
      kms,
      Array.from({ length: 3 }, (_, index) => ({ operation: 'crypto.sign', request_id: `near-${index}` })),
    )
    const admin = kms.user('admin')
    const own = (await admin.get(`${path}?operation=crypto.sign`)).json.records
    assert.equal(own.length, 3)
    const make = (seq: number, members: object = {}): string => {
      const record = { ...own[0], node: 'liar', seq, request_id: `liar-${seq}`, ...members }
      const { hash: _, ...rest } = record
      const canonical = JSON.stringify(
        Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))),
      )
      const hash = createHash('sha256').update(record.prev).update(canonical).digest('hex')
      return JSON.stringify({ ...record, hash })
    }
    const page = (members: object) => JSON.stringify({ lines: [], problems: [], ...members })
    const changed = JSON.stringify({ ...own[0], principal: 'mallory' })
    const search = async () => (await admin.get(`${path}?operation=crypto.sign&limit=10`)).json
    for (const [what, answer, said] of [
      ['no JSON', 'no JSON', /malformed/],
      ['another value', '[]', /malformed/],
      ['no lines', '{"problems":[]}', /malformed/],
      ['more lines than asked for', page({ lines: Array(11).fill(make(1)) }), /malformed/],
      ['a record twice', page({ lines: [make(5), make(5)] }), /malformed/],
      ['another order', page({ lines: [make(4), make(5)] }), /malformed/],
      ['a page without end', page({ next: Number.MAX_SAFE_INTEGER }), /malformed/],
      ['a page before the first', page({ next: 0 }), /malformed/],
      ['a position that skips back', page({ lines: [make(5)], next: 9 }), /malformed/],
      ['a head that is none', page({ head: { seq: 1, hash: '<script>' } }), /malformed/],
      ['a time that is none', page({ reached: 1e15 }), /malformed/],
      ['a changed record', page({ lines: [changed] }), /left out/],
      ['a record of another operation', page({ lines: [make(5, { operation: 'kmip.Get' })] }), /left out/],
      ['a record in two lines', page({ lines: [make(5).replace(',"', ',\n"')] }), /left out/],
    ] as const) {
      body = answer
      const { records, nodes } = await search()
      assert.deepEqual(records, own, what)
      const [{ answered, reason = '', problems }] = nodes
      assert.match(`${reason}${problems.join()}`, said, what)
      assert.equal(answered, !/malformed/.test(reason), what)
      body = page({ lines: [] })
    }
    const bucket = (start: string, records = 5, failures = 1) => ({
      start: Date.parse(start),
      records,
      failures,
    })
    const counts = async () =>
      (await admin.get('/v1/audit/counts?operation=crypto.sign&since=2026-01-01T00:00:00Z&step=day')).json
    body = page({ buckets: [] })
    const counted = (await counts()).buckets
    assert.equal(counted.length, 1)
    for (const buckets of [
      undefined,
      [null],
      [bucket('2025-12-31T00:00:00Z')],
      [bucket('2026-01-02T00:00:01Z')],
      [bucket('2036-01-02T00:00:00Z')],
      [bucket('2026-01-02T00:00:00Z', -1)],
      [bucket('2026-01-02T00:00:00Z', 1, 2)],
      [bucket('2026-01-03T00:00:00Z'), bucket('2026-01-02T00:00:00Z')],
      Array(1001).fill(bucket('2026-01-02T00:00:00Z')),
    ]) {
      body = page({ buckets })
      const answer = await counts()
      assert.deepEqual(answer.buckets, counted, JSON.stringify(buckets))
      assert.match(answer.nodes[0].reason, /malformed/)
    }
    body = page({ buckets: [bucket('2026-01-02T00:00:00Z')] })
    assert.deepEqual((await counts()).buckets[0], {
      start: '2026-01-02T00:00:00.000Z',
      records: 5,
      failures: 1,
    })
    for (const answer of [
      '{}',
      '{"ok":true,"records":1}',
      '{"ok":true,"records":1,"files":1,"removed":0,"unexplained":[],"unread":[],"head":{}}',
    ]) {
      body = answer
      const { status, json } = await admin.get('/v1/audit/verify')
      assert.deepEqual([status, json.ok, json.nodes[0].answered, json.nodes[1].ok], [200, false, false, true])
    }
    body = page({ problems: Array(1000).fill('p'.repeat(100_000)) })
    assert.ok(JSON.stringify(await search()).length < 50_000)
    // What cannot be seen in an answer: records that are left out, and a chain that is invented.
    body = page({ lines: [make(7)], head: { seq: 7, hash: 'a'.repeat(64) } })
    assert.equal((await search()).records.length, 4)
    await db.commit([rememberHead('liar:/elsewhere', { seq: 9, hash: 'b'.repeat(64) })])
    assert.match((await search()).nodes[0].problems.join(), /not what the database recorded/)
  } finally {
    liar.closeAllConnections()
    liar.close()
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('an export whose node goes away in between has no end', { timeout: 120_000 }, async () => {
  const agent = new Agent({ keepAlive: false })
  const folder = mkdtempSync(join(tmpdir(), 'warder-cut-'))
  const file = join(folder, 'shared.db')
  const [one, other] = [openSqlite({ path: file }), openSqlite({ path: file })]
  await migrate(one, 'audit', preparedCommitMigrations)
  const rootKey = randomBytes(32)
  const config = { outbound_ca_file: 'tls/ca.crt', database_url: `sqlite:${file}` }
  try {
    await using near = await startKms({ db: one, rootKey, node: 'near', config })
    const far = await startKms({ db: other, rootKey, node: 'far', config })
    let isUp = true
    const stopFar = async () => {
      if (isUp) await far[Symbol.asyncDispose]()
      isUp = false
    }
    try {
      const register = (kms: Started, node: string, port = kms.port) => {
        const address = `https://localhost:${port}`
        const row = { log: `${node}:${kms.home}`, node, address }
        return one.commit(rememberNode(row, Date.now(), near.environment.seal))
      }
      for (const [kms, node] of [
        [near, 'near'],
        [far, 'far'],
      ] as const) {
        await register(kms, node)
        await writeLog(
          kms,
          Array.from({ length: 15_000 }, (_, index) => ({
            ...{ operation: 'crypto.sign', time: 1.7e12 + index, details: { padding: 'p'.repeat(500) } },
          })),
        )
      }
      const authorization = `Bearer ${near.token({ sub: 'admin' })}`
      const begin = async (format: string): Promise<IncomingMessage> => {
        const url = `https://localhost:${near.port}/v1/audit/export?operation=crypto.sign&format=${format}`
        const sent = request(url, { ca: near.ca, agent, headers: { authorization } })
        sent.end()
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        return response
      }
      for (const format of ['jsonl', 'csv', 'cef']) {
        await register(far, 'far')
        const response = await begin(format)
        assert.equal(response.statusCode, 200)
        response.pause()
        // Nothing listens at port 1.
        if (format === 'cef') await stopFar()
        else await register(far, 'far', 1)
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        response.resume()
        const [error] = (await once(response, 'error')) as [NodeJS.ErrnoException]
        assert.deepEqual([error.code, response.complete], ['ECONNRESET', false])
        assert.ok(bytes > 0)
      }
      const cuts = near.log.filter((line) => line.startsWith('a reply ended before it was complete'))
      assert.equal(cuts.length, 3)
      for (const line of cuts) assert.match(line, /the node far does not answer any more/)
      // An export that begins now is refused before its first byte.
      const refused = await begin('jsonl')
      assert.equal(refused.statusCode, 502)
      refused.destroy()
      const entries = near.audit.filter(({ operation }) => operation === 'audit.export')
      assert.deepEqual(
        entries.map(({ status }) => status),
        [200, 200, 200, 502],
      )
    } finally {
      await stopFar()
    }
  } finally {
    agent.destroy()
    await one.close()
    await other.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

interface AuditNode {
  readonly node: string
  readonly answered: boolean
  readonly problems: readonly string[]
  readonly head?: { readonly seq: number }
}
