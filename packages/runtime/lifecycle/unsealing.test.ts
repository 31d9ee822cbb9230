import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Failure, Secret, StartupError, systemClock } from '@warder/base'
import {
  createShareSet,
  type Database,
  findSharedRootKey,
  migrate,
  moveToShares,
  openSeal,
  openSqlite,
  type RootKey,
  ShareCollection,
  type SharedRootKey,
  type ShareSet,
  sealMigrations,
} from '@warder/storage'
import { createLogger } from '../logger.ts'
import { createMetrics } from '../metrics.ts'
import { Unsealing } from './unsealing.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-unsealing-'))
const opened: { close(): unknown }[] = []
after(async () => {
  for (const one of opened) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

async function makeSet() {
  const holders = ['anna', 'ben', 'carl'].map((name) => ({ name, recipient: `age1${name}` }))
  return createShareSet({ installation: 'test', threshold: 2, holders, now: 0 })
}

const first: RootKey = { kind: 'key', from: 'first', key: new Secret(Buffer.alloc(32, 1)) }

/** A database whose root key is in shares of a set. */
async function makeDatabase(name: string, set: ShareSet): Promise<Database> {
  const db = openSqlite({ path: join(folder, `${name}.db`) })
  opened.push(db)
  await migrate(db, 'seal', sealMigrations)
  await openSeal({ db, service: name, rootKeys: [first], clock: systemClock })
  await moveToShares(set, { databases: [{ db, service: name }], readOld: async () => [first], now: 0 })
  return db
}

interface Reply {
  readonly status: number
  readonly json: Record<string, unknown>
  readonly headers: Readonly<Record<string, unknown>>
}

/** A sealed service on a port, with the HTTP parser of a stand-in. */
async function seal(
  name: string,
  db: Database,
  limitMs = 60_000,
  change = (shared: SharedRootKey): SharedRootKey => shared,
) {
  const lines: string[] = []
  const calls: string[] = []
  const metrics = createMetrics()
  const unsealing = new Unsealing({
    limitMs,
    database: 'sqlite',
    clock: systemClock,
    log: createLogger({ level: 'debug', service: name, write: (line) => void lines.push(line) }),
    metrics,
    onSealed: async () => void calls.push('sealed'),
    onOpened: async () => void calls.push('opened'),
  })
  const find = async () => {
    const shared = await findSharedRootKey(db, name)
    assert.ok(shared !== undefined)
    return change(shared)
  }
  const collected = unsealing.collect(find, name)
  collected.catch(() => undefined)
  while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const http = createServer(async (incoming, response) => {
    const send = (status: number, body: unknown, headers = {}): void => {
      if (!response.destroyed)
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
    }
    try {
      const { status, body } = await unsealing.answer(incoming)
      send(status, body as string)
    } catch (error) {
      assert.ok(error instanceof Failure, String(error))
      send(
        error.status,
        { error: error.kind, description: error.message },
        { 'retry-after': `${error.retryAfterSeconds}` },
      )
    }
  })
  opened.push(http)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  /** Each request has another client address, unless one is set. */
  let from = 0
  const nextAddress = (): string => {
    from = (from + 1) % 250
    return `127.0.0.${from + 2}`
  }
  const ask = (method: string, path: string, body?: string | Buffer, address = nextAddress()) =>
    new Promise<Reply>((resolve, reject) => {
      const sent = sendRequest(
        { host: '127.0.0.1', port, method, path, localAddress: address },
        (response) => {
          let text = ''
          response.on('data', (chunk) => (text += chunk))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              json: JSON.parse(text || '{}'),
              headers: response.headers,
            }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  const enter = (share: string | undefined, address?: string) =>
    ask('POST', '/unseal', JSON.stringify({ share }), address)
  return { unsealing, collected, lines, calls, metrics, ask, enter, find }
}

test('a sealed service tells its progress, refuses everything else, and opens at the last share', async () => {
  const { set, shares } = await makeSet()
  const db = await makeDatabase('one', set)
  const service = await seal('one', db)
  const { ask, enter, unsealing, calls } = service
  const health = await ask('GET', '/health?x=1')
  assert.equal(health.status, 503)
  assert.deepEqual(health.json.sealed, { entered: 0, threshold: 2 })
  assert.doesNotMatch(JSON.stringify(health.json), new RegExp(`anna|ben|carl|${set.id.slice(0, 8)}|"5"`))
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/unseal'],
    ['PUT', '/unseal'],
    ['POST', '/v1/crypto/keys'],
    ['GET', '/openapi.yaml'],
    ['POST', '/health'],
  ] as const) {
    const { status, json } = await ask(method, path)
    assert.deepEqual([status, json.error], [503, 'sealed'], `${method} ${path}`)
  }
  assert.match(JSON.stringify(await service.metrics.snapshot()), /sealed/)
  assert.deepEqual((await enter(shares[2])).json, { sealed: true, entered: 1, threshold: 2 })
  const again = await enter(shares[2])
  assert.equal(again.status, 409)
  assert.match(String(again.json.description), /Share 3 was entered before/)
  assert.deepEqual((await enter(` ${shares[0]}\n`)).json, { sealed: false })
  const root = await service.collected
  assert.deepEqual(calls, ['sealed', 'opened'])
  assert.equal(root.kind, 'key')
  assert.deepEqual(unsealing.unsealed?.holders, ['anna', 'carl'])
  assert.deepEqual((await enter(shares[1])).json, { sealed: false }, 'a share that comes late')
  assert.equal((await ask('GET', '/x')).json.error, 'overloaded')
  await unsealing.collect(service.find, 'one')
  assert.deepEqual(calls, ['sealed', 'opened'], 'a start that asks again is not sealed again')
  unsealing.close()
  for (const share of shares) assert.ok(!service.lines.some((line) => line.includes(share.slice(30, 60))))
})

test('hostile requests are refused and displace no share', async () => {
  const [{ set, shares }, other] = [await makeSet(), await makeSet()]
  const { ask, enter, collected, lines } = await seal('two', await makeDatabase('two', set))
  assert.equal((await enter(shares[0])).status, 200)
  for (const [body, status, kind] of [
    ['', 400, 'bad_request'],
    ['null', 400, 'bad_request'],
    ['[]', 400, 'bad_request'],
    ['{', 400, 'bad_request'],
    ['{"share":1}', 400, 'bad_request'],
    ['{"share":"a","share":"b"}', 400, 'bad_request'],
    ['{"share":"a","more":1}', 400, 'bad_request'],
    ['{"__proto__":"a"}', 400, 'bad_request'],
    ['{"share":"\\ud800"}', 400, 'bad_request'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 400, 'bad_request'],
    [`{"share":"${'a'.repeat(500)}"}`, 400, 'bad_request'],
    ['['.repeat(2000), 400, 'bad_request'],
    [`{"share":"${'a'.repeat(3000)}"}`, 413, 'payload_too_large'],
    [JSON.stringify({ share: other.shares[0] }), 403, 'forbidden'],
  ] as const) {
    const { status: found, json } = await ask('POST', '/unseal', body)
    assert.deepEqual([found, json.error], [status, kind], String(body).slice(0, 60))
  }
  assert.ok(lines.some((line) => /a share was refused/.test(line)))
  const flood = await Promise.all(
    Array.from({ length: 1000 }, (_, index) => enter(`warder-share-1.${'x'.repeat(100)}${index}`)),
  )
  assert.ok(flood.every(({ status }) => status === 400 || status === 429))
  assert.deepEqual((await ask('GET', '/health')).json.sealed, { entered: 1, threshold: 2 })
  const one = await Promise.all(Array.from({ length: 40 }, () => enter('x', '127.0.1.1')))
  const limited = one.filter(({ status }) => status === 429)
  assert.ok(limited.length >= 15, `${limited.length} of 40 requests of one address are over its rate`)
  assert.ok(Number(limited[0]?.headers['retry-after']) >= 1)
  assert.deepEqual((await enter(shares[1], '127.0.2.1')).json, { sealed: false })
  await collected
})

test('the shares of an unfinished unsealing are discarded at the time limit', async () => {
  const { set, shares } = await makeSet()
  const { ask, enter, collected, lines } = await seal('three', await makeDatabase('three', set), 300)
  await enter(shares[0])
  const entered = async () => ((await ask('GET', '/health')).json.sealed as { entered: number }).entered
  const until = performance.now() + 20_000
  while ((await entered()) !== 0 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(await entered(), 0)
  assert.ok(lines.some((line) => /time limit has passed/.test(line)))
  const [one, two] = await Promise.all([enter(shares[0]), enter(shares[2])])
  assert.deepEqual([one.json.sealed, two.json.sealed], [true, false])
  await collected
})

test('shares made while the service is sealed are accepted, and the ones before are refused', async () => {
  const [before, fresh] = [await makeSet(), await makeSet()]
  const db = await makeDatabase('four', before.set)
  const { ask, enter, collected, find } = await seal('four', db)
  await enter(before.shares[0])
  const shared = await find()
  assert.equal(shared.set.id, before.set.id)
  const collection = new ShareCollection(before.set)
  for (const share of before.shares) collection.add(share)
  const old = await shared.open(await collection.combine())
  await moveToShares(fresh.set, { databases: [{ db, service: 'four' }], readOld: async () => [old], now: 0 })
  await new Promise((resolve) => setTimeout(resolve, 1100))
  assert.equal((await enter(fresh.shares[1])).status, 200)
  assert.deepEqual((await ask('GET', '/health')).json.sealed, { entered: 1, threshold: 2 })
  assert.equal((await enter(before.shares[1])).status, 403)
  assert.equal((await enter(fresh.shares[0])).json.sealed, false)
  await collected
})

test('a set that was changed in the database is reported, and keeps the service sealed', async () => {
  const { set, shares } = await makeSet()
  const { ask, enter, lines } = await seal('five', await makeDatabase('five', set), undefined, (shared) => ({
    ...shared,
    open: async () => {
      throw new StartupError('does not match the check value')
    },
  }))
  await enter(shares[0])
  const last = await enter(shares[1])
  assert.equal(last.status, 409)
  assert.match(String(last.json.description), /stored set was changed. All shares were discarded/)
  assert.ok(lines.some((line) => /do not open the root key/.test(line) && /anna/.test(line)))
  assert.deepEqual((await ask('GET', '/health')).json.sealed, { entered: 0, threshold: 2 })
  assert.equal((await enter(shares[0])).status, 200)
})
