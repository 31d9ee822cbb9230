import assert from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Metrics, systemClock } from '@warder/base'
import { createOutbound } from '@warder/outbound'
import { ensureLocalAuthority } from '@warder/server'
import { type Database, migrate, openPostgres, openSqlite, StorageUnavailable } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { type NoticeConfig, noticeSettings } from '../config/notice-settings.ts'
import { startSmtpServer } from '../testing/smtp-server.ts'
import { countNotices, noticeMigrations } from './notice-store.ts'
import { createNotices, type NoticeDefinition } from './notices.ts'
import { createMailer, createWebhook, type NoticeReceiver } from './receivers.ts'
import { giveUpMs, isNoticeDue, mailEveryMs, quietMs, sendDueNotices } from './sender.ts'

const secret = 'a secret of more than thirty-two characters'
const server = await startTestPostgres()
const folder = mkdtempSync(join(tmpdir(), 'warder-spool-'))
before(async () => {
  const certificates = [{ name: 'receiver', commonName: 'receiver' }]
  for (const place of ['mine', 'theirs'])
    await ensureLocalAuthority({ folder: join(folder, place), clock: systemClock, certificates })
})
after(async () => {
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

let count = 0
const engines = [
  {
    name: 'SQLite',
    skip: false as string | false,
    async open(): Promise<readonly [Database, Database]> {
      count += 1
      const path = join(folder, `${count}.db`)
      return [openSqlite({ path }), openSqlite({ path })]
    },
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in server ? server.missing : (false as string | false),
    async open(): Promise<readonly [Database, Database]> {
      assert.ok('database' in server)
      const url = await server.database()
      return [await openPostgres({ url }), await openPostgres({ url })]
    },
  },
]

/** As a receiver verifies a notice: the time, then the MAC, in constant time. */
function isSigned(header: string, body: string, key: string): boolean {
  const [, seconds = '', mac = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > 10_000_000) return false
  const expected = createHmac('sha256', key).update(`${seconds}.${body}`).digest()
  return timingSafeEqual(expected, Buffer.from(mac.padEnd(64, '0'), 'hex'))
}

const answers = {
  takes: (response: ServerResponse) => response.writeHead(204).end(),
  slow: () => undefined,
  gone: (_: ServerResponse, request: IncomingMessage) => request.socket.destroy(),
  redirects: (response: ServerResponse) => response.writeHead(307, { location: '/elsewhere' }).end(),
  floods: (response: ServerResponse) => response.writeHead(200).end(Buffer.alloc(2_000_000)),
  'speaks no HTTP': (_: ServerResponse, request: IncomingMessage) =>
    request.socket.end('no such protocol\r\n\r\n'),
  fails: (response: ServerResponse) => response.writeHead(500).end('broken\u0007\r\nline'),
}
type Answer = keyof typeof answers

interface Got {
  readonly id: string
  readonly body: Readonly<Record<string, unknown>>
  readonly path: string
  readonly signed: boolean
}

/** A receiver over HTTPS that answers as it is told, then takes everything. */
async function startReceiver(script: Answer[] = [], { place = 'mine', key = secret } = {}) {
  const got: Got[] = []
  const pem = (name: string) => readFileSync(join(folder, place, name))
  const https = createServer({ cert: pem('receiver.crt'), key: pem('receiver.key') }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      const signed = isSigned(String(request.headers['warder-signature']), text, key)
      const id = String(request.headers['warder-notice-id'])
      got.push({ id, body: JSON.parse(text), path: request.url ?? '', signed })
      if (signed) answers[script.shift() ?? 'takes'](response, request)
      else response.writeHead(401).end()
    })
  })
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve))
  const { port } = https.address() as AddressInfo
  const outbound = createOutbound({
    proxy: undefined,
    allowPrivateNetworks: true,
    caFile: join(folder, 'mine', 'ca.crt'),
    timeoutMs: 500,
  })
  const clock = createClock()
  return {
    got,
    clock,
    receiver: createWebhook({ url: `https://localhost:${port}/notices`, secret, outbound, clock }),
    close: () =>
      new Promise<void>((resolve) => {
        https.close(() => resolve())
        https.closeAllConnections()
      }),
  }
}

function createClock() {
  let now = Date.now()
  return {
    now: () => now,
    monotonic: () => performance.now(),
    advance: (ms: number) => {
      now += ms
    },
  }
}

const definition: NoticeDefinition<NoticeConfig> = {
  events: {
    one: { kind: 'one', severity: 'info', text: 'one happened', byDefault: true },
    alarm: { kind: 'alarm', severity: 'critical', text: 'an alarm', byDefault: true },
  },
  webhookSettings: 'webhook_url',
  webhook: () => ({ url: 'https://receiver.example/', secret }),
}
const defaults = Object.fromEntries(
  Object.entries(noticeSettings(['one', 'alarm'], '')).map(([name, setting]) => [name, setting.default]),
) as unknown as NoticeConfig

/** A node: its notices and its sender. */
function createNode(
  db: Database,
  clock: ReturnType<typeof createClock>,
  receivers: readonly NoticeReceiver[],
  changes: Partial<NoticeConfig> = {},
) {
  const lines: string[] = []
  const counted: string[] = []
  const write = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: () => undefined, info: write, warn: write, error: write, child: () => log }
  const metrics = {
    count: (name: string, labels?: object, by = 1) => {
      for (let at = 0; at < by; at += 1) counted.push(`${name} ${Object.values(labels ?? {}).join(' ')}`)
    },
  } as unknown as Metrics
  const config = { ...defaults, ...changes }
  const notices = createNotices({ definition, config, db, clock, log, metrics })
  assert.ok(notices)
  const { events } = definition
  return {
    notices,
    lines,
    counted,
    send: () => sendDueNotices({ events, receivers, db, clock, log, metrics }),
    isDue: () => isNoticeDue(db, receivers, clock.now()),
  }
}

for (const { name, skip, open } of engines) {
  const prepare = async () => {
    const [db, other] = await open()
    await migrate(db, 'notices', noticeMigrations)
    return { db, other, close: async () => void (await Promise.all([db.close(), other.close()])) }
  }

  test(`${name}: a notice survives its process, is sent once, signed, by one of two nodes, and then gone`, {
    skip,
  }, async () => {
    const { db, other, close } = await prepare()
    const { receiver, clock, got, close: stop } = await startReceiver()
    await createNode(db, clock, [receiver]).notices.tell('one', { by: 'alice' })
    // The process that stored it ends here.
    const [ann, ben] = [createNode(db, clock, [receiver]), createNode(other, clock, [receiver])]
    assert.ok(await ben.isDue())
    await Promise.all([ann.send(), ben.send(), ann.send(), ben.send()])
    assert.equal(got.length, 1)
    assert.ok(got[0]?.signed)
    assert.deepEqual([got[0]?.body.event, got[0]?.body.by], ['one', 'alice'])
    assert.equal(await countNotices(db), 0)
    assert.ok(!(await ann.isDue()))
    await stop()
    await close()
  })

  test(`${name}: a process that ends after its claim, or before it knows the reply, leaves the notice to the next, with the same id`, {
    skip,
  }, async () => {
    const { db, other, close } = await prepare()
    const { receiver, clock, got, close: stop } = await startReceiver()
    const broken: NoticeReceiver = {
      ...receiver,
      async deliver(notices) {
        await receiver.deliver(notices)
        await new Promise(() => undefined)
        return ''
      },
    }
    const killed = createNode(db, clock, [broken])
    await killed.notices.tell('one', {})
    void killed.send()
    while (got.length === 0) await new Promise<void>((resolve) => setImmediate(resolve))
    const next = createNode(other, clock, [receiver])
    await next.send()
    assert.equal(got.length, 1)
    clock.advance(45_001)
    await next.send()
    assert.equal(got.length, 2)
    assert.equal(got[0]?.id, got[1]?.id)
    assert.equal(await countNotices(db), 0)
    await stop()
    await close()
  })

  test(`${name}: a receiver that is slow, hangs up, redirects, floods, lies or fails is tried again with longer waits`, {
    skip,
  }, async () => {
    const { db, close } = await prepare()
    const script: Answer[] = ['slow', 'gone', 'redirects', 'floods', 'speaks no HTTP', 'fails', 'takes']
    const { receiver, clock, got, close: stop } = await startReceiver([...script])
    const node = createNode(db, clock, [receiver])
    await node.notices.tell('one', {})
    for (const wait of [0, 1000, 10_000, 60_000, 300_000, 900_000]) {
      clock.advance(wait - 1)
      assert.ok(!(await node.isDue()), `before ${wait} ms`)
      clock.advance(1)
      await node.send()
    }
    assert.equal(got.length, 6)
    clock.advance(3_600_000)
    await node.send()
    assert.equal(got.length, 7)
    assert.ok(got.every(({ signed, path, id }) => signed && path === '/notices' && id === got[0]?.id))
    assert.deepEqual(
      [...new Set(node.counted)],
      ['notices_total webhook failed', 'notices_total webhook sent'],
    )
    for (const line of node.lines) assert.doesNotMatch(line, /\p{Cc}/u)
    await stop()
    await close()
  })

  test(`${name}: a notice that no attempt delivered in a day is given up, with a log line and a metric`, {
    skip,
  }, async () => {
    const { db, close } = await prepare()
    const {
      receiver,
      clock,
      got,
      close: stop,
    } = await startReceiver([], { key: 'another secret of more than thirty-two characters' })
    const node = createNode(db, clock, [receiver])
    await node.notices.tell('one', {})
    for (let hour = 0; hour <= 25; hour += 1) {
      await node.send()
      clock.advance(3_600_000)
    }
    assert.ok(got.length > 20 && got.every(({ signed }) => !signed))
    assert.equal(node.lines.filter((line) => line.includes('abandoned')).length, 1)
    assert.ok(node.counted.includes('notices_total webhook abandoned'))
    assert.equal(await countNotices(db), 0)
    assert.ok(giveUpMs === 86_400_000)
    await stop()
    await close()
  })

  test(`${name}: events about one object are one notice at once and one in ten minutes, with their number`, {
    skip,
  }, async () => {
    const { db, close } = await prepare()
    const { receiver, clock, got, close: stop } = await startReceiver()
    const node = createNode(db, clock, [receiver])
    const object = 'x\0\ud800\r\n'.repeat(1000)
    for (let times = 0; times < 3; times += 1) await node.notices.tell('alarm', { object }, { object })
    await node.send()
    for (let times = 0; times < 500; times += 1) {
      clock.advance(100)
      await node.notices.tell('alarm', { object }, { object })
      if (times % 100 === 0) await node.send()
    }
    assert.deepEqual(
      got.map(({ body }) => body.times),
      [3],
    )
    clock.advance(quietMs)
    await node.send()
    assert.deepEqual(
      got.map(({ body }) => body.times),
      [3, 500],
    )
    assert.notEqual(got[0]?.id, got[1]?.id)
    clock.advance(quietMs)
    await node.send()
    assert.equal(await countNotices(db), 0)
    assert.equal(got.length, 2)
    await stop()
    await close()
  })

  test(`${name}: a full spool drops notices with a line in the log, and has room for critical ones`, {
    skip,
  }, async () => {
    const { db, close } = await prepare()
    const { receiver, clock, close: stop } = await startReceiver()
    const node = createNode(db, clock, [receiver])
    await db.commit(Array.from({ length: 1000 }, () => node.notices.stage('one', {})).flat())
    await node.notices.tell('one', {})
    assert.match(node.lines.join('\n'), /dropped because too many are waiting/)
    assert.deepEqual(node.counted, ['notices_total webhook dropped'])
    await node.notices.tell('alarm', {})
    assert.equal(await countNotices(db), 1001)
    await stop()
    await close()
  })

  test(`${name}: mail is at most one message in a minute over all nodes, with every notice that waits`, {
    skip,
  }, async () => {
    const { db, other, close } = await prepare()
    const clock = createClock()
    const pem = (file: string) => readFileSync(join(folder, 'mine', file))
    const smtp = await startSmtpServer({
      cert: pem('receiver.crt'),
      key: pem('receiver.key'),
      tls: 'starttls',
      script: ['takes', 'is busy'],
    })
    const changes = {
      ...{ smtp_host: 'localhost', smtp_port: smtp.port, smtp_ca_file: 'ca.crt' },
      ...{ notice_from: 'warder@example.com', notice_to: ['a@example.com'], notices: ['*=email'] },
    }
    const config = {
      ...defaults,
      ...changes,
      outbound_ca_file: undefined,
      outbound_allow_private_networks: false,
      outbound_proxy: undefined,
      outbound_proxy_credentials_file: undefined,
      outbound_proxy_resolves: false,
      outbound_no_proxy: [],
    }
    const mailer = createMailer({ config, home: join(folder, 'mine'), service: 'test', node: 'n', clock })
    const nodes = [db, other].map((one) => createNode(one, clock, [mailer], changes))
    const [ann, ben] = nodes
    assert.ok(ann && ben)
    for (let second = 0; second < 60; second += 1) {
      await ann.notices.tell('one', { second })
      await Promise.all([ann.send(), ben.send()])
      clock.advance(1000)
    }
    assert.equal(smtp.mails.length, 1)
    await Promise.all([ann.send(), ben.send()])
    assert.equal(smtp.mails.length, 2)
    assert.match(smtp.mails[1]?.data ?? '', /^Subject: Warder test on n: 59 notices\r$/m)
    // The server was busy: the same again, after a minute.
    clock.advance(mailEveryMs)
    await ann.send()
    assert.equal(smtp.mails.length, 3)
    assert.equal(await countNotices(db), 0)
    await smtp.close()
    await close()
  })
}

test('a disk that is full drops the notice with a line in the log, and fails nothing else', async () => {
  const [db, other] = await (engines[0]?.open() ?? [])
  assert.ok(db && other)
  await migrate(db, 'notices', noticeMigrations)
  const full: Database = {
    ...db,
    commit: () => Promise.reject(new StorageUnavailable('database or disk is full')),
  }
  const node = createNode(full, createClock(), [])
  await node.notices.tell('one', { by: 'alice' })
  assert.match(node.lines.join('\n'), /dropped because it cannot be stored/)
  assert.deepEqual(node.counted, ['notices_total webhook dropped'])
  await db.close()
  await other.close()
})

test('a receiver with another certificate is sent nothing', async () => {
  const { receiver, got, close } = await startReceiver([], { place: 'theirs' })
  const notice = { id: '1', event: 'one', severity: 'info', text: '', body: '{}' } as const
  await assert.rejects(receiver.deliver([notice]), /NotDelivered|certificate/)
  assert.equal(got.length, 0)
  await close()
})
