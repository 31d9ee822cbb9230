import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { createOutbound, readOutboundAccess } from '@warder/outbound'
import { startProxy } from '@warder/outbound/testing'
import { createMetrics } from '@warder/runtime'
import { issue } from '@warder/server/testing'
import { type AuditLog, openAuditLog } from '../log.ts'
import { createCollectorTarget } from './collector.ts'
import { type ForwardTarget, startForwarder } from './forwarder.ts'
import { createSyslogTarget, formatSyslogMessage } from './syslog.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-forward-'))
const closers: (() => void)[] = []
let count = 0
let caFile = ''
let pair: { readonly key: string; readonly cert: string }

before(async () => {
  const issued = await issue({ hostnames: ['localhost', 'logs.example'] })
  pair = { key: issued.keyPem, cert: issued.certificatePem }
  caFile = join(room, 'ca.pem')
  writeFileSync(caFile, issued.certificatePem)
})
after(() => {
  for (const close of closers) close()
  rmSync(room, { recursive: true, force: true })
})

async function listening(server: HttpsServer | TlsServer): Promise<number> {
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const newFolder = (): string => join(room, `log-${count++}`)
const openLog = (folder: string): Promise<AuditLog> =>
  openAuditLog({
    folder,
    service: 'kms',
    node: 'node 1\u00e9',
    mode: 'reject',
    rotateBytes: 2000,
    clock: systemClock,
    log: quietLog,
  })

async function record(log: AuditLog, names: readonly string[]): Promise<void> {
  for (const operation of names)
    await log.trail.recordDurably({
      time: 1_767_225_600_000,
      request_id: '-',
      operation,
      principal: 'alice',
      auth_method: 'jwt',
      client_ip: '127.0.0.1',
      outcome: operation === 'bad' ? 'failure' : 'success',
      status: 200,
      duration_ms: 0,
    })
}

const forward = (folder: string, target: ForwardTarget, log: AuditLog) =>
  startForwarder({
    folder,
    target,
    keys: log.keys,
    clock: systemClock,
    log: quietLog,
    metrics: createMetrics(),
    head: () => log.head.seq,
    record: (event) => log.trail.record(event),
    pollMs: 5,
    firstRetryMs: 1,
  })

/** Resolves when it is true. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const readSeq = (line: string): number => JSON.parse(line).seq

/** A collector that answers as it is told. */
async function collector(status: () => number) {
  const taken: string[] = []
  const asked: { readonly type: string | undefined; readonly authorization: string | undefined }[] = []
  const port = await listening(
    createServer(pair, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        asked.push({ type: request.headers['content-type'], authorization: request.headers.authorization })
        const answer = status()
        if (answer < 300) taken.push(...Buffer.concat(chunks).toString('utf8').trimEnd().split('\n'))
        response.writeHead(answer, answer === 302 ? { location: 'https://127.0.0.1/' } : {}).end()
      })
    }),
  )
  return { taken, asked, url: `https://127.0.0.1:${port}/logs` }
}
const outbound = () =>
  createOutbound({ proxy: undefined, allowPrivateNetworks: true, caFile, timeoutMs: 2000 })

test('a collector gets each record in its order, also after it refused, and after a restart', async () => {
  const folder = newFolder()
  let refusals = 3
  const { taken, asked, url } = await collector(() =>
    refusals-- > 0 ? ([500, 302, 404][refusals % 3] ?? 500) : 204,
  )
  const tokenFile = join(room, 'token')
  writeFileSync(tokenFile, 'secret-1\n')
  let log = await openLog(folder)
  await record(log, ['one', 'two', 'three'])
  let forwarder = forward(folder, createCollectorTarget({ url, tokenFile, outbound: outbound() }), log)
  await until(() => taken.length >= 3)
  assert.deepEqual(asked.at(-1), { type: 'application/x-ndjson', authorization: 'Bearer secret-1' })
  await record(
    log,
    Array.from({ length: 30 }, (_, index) => `op-${index}`),
  )
  await until(() => taken.length >= 33)
  await forwarder.stop()
  await log.close()
  log = await openLog(folder)
  await record(log, ['four'])
  writeFileSync(tokenFile, 'secret-2\n')
  forwarder = forward(folder, createCollectorTarget({ url, tokenFile, outbound: outbound() }), log)
  await until(() => taken.length >= 34)
  await forwarder.stop()
  await log.close()
  assert.deepEqual(
    taken.map(readSeq),
    Array.from({ length: 34 }, (_, index) => index + 1),
  )
  assert.equal(asked.at(-1)?.authorization, 'Bearer secret-2')
  assert.ok(!readFileSync(join(folder, 'forwarded-collector.json'), 'utf8').includes('secret'))
})

test('a log that took the place of another is sent from its beginning', async () => {
  const folder = newFolder()
  const { taken, url } = await collector(() => 200)
  const target = () => createCollectorTarget({ url, tokenFile: undefined, outbound: outbound() })
  let log = await openLog(folder)
  await record(log, ['one', 'two', 'three'])
  let forwarder = forward(folder, target(), log)
  await until(() => taken.length >= 3)
  await forwarder.stop()
  await log.close()
  const file = join(folder, 'audit-0000000000000001.jsonl')
  writeFileSync(file, readFileSync(file, 'utf8').replace('two', 'owt'))
  log = await openLog(folder)
  await record(log, ['new'])
  forwarder = forward(folder, target(), log)
  await until(() => taken.length >= 5)
  await forwarder.stop()
  await log.close()
  assert.deepEqual(
    taken.slice(3).map((line) => JSON.parse(line).operation),
    ['audit.chain_sealed', 'new'],
  )
})

test('a collector that never answers delays no request, and a stop does not wait for it', async () => {
  const folder = newFolder()
  const port = await listening(createServer(pair, () => undefined))
  const log = await openLog(folder)
  const url = `https://127.0.0.1:${port}/`
  const slow = createOutbound({ proxy: undefined, allowPrivateNetworks: true, caFile, timeoutMs: 50 })
  await record(log, ['one'])
  const forwarder = forward(folder, createCollectorTarget({ url, tokenFile: undefined, outbound: slow }), log)
  await record(log, ['two', 'three'])
  await forwarder.stop()
  await log.close()
  assert.equal(log.head.seq, 3)
})

/** A syslog server that keeps what it is sent, whole messages alone. */
async function syslogServer() {
  const messages: string[] = []
  const sockets = new Set<TLSSocket>()
  const port = await listening(
    createTlsServer(pair, (socket) => {
      sockets.add(socket)
      let rest = Buffer.alloc(0)
      socket.on('error', () => undefined)
      socket.on('data', (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk])
        for (;;) {
          const blank = rest.indexOf(32)
          const length = Number(rest.toString('latin1', 0, Math.max(0, blank)))
          if (blank < 0 || rest.length < blank + 1 + length) return
          messages.push(rest.toString('utf8', blank + 1, blank + 1 + length))
          rest = rest.subarray(blank + 1 + length)
        }
      })
    }),
  )
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  closers.push(cut)
  return { messages, cut, port }
}

test('syslog gets framed messages over TLS, and again what a broken connection may have lost', async () => {
  const folder = newFolder()
  const { messages, cut, port } = await syslogServer()
  const log = await openLog(folder)
  await record(log, ['one', 'bad'])
  const where = {
    host: '127.0.0.1',
    port,
    allowPrivateNetworks: true,
    proxy: undefined,
    caFile,
    timeoutMs: 2000,
  }
  const forwarder = forward(folder, createSyslogTarget(where), log)
  await until(() => messages.length >= 2)
  assert.match(
    messages[0] ?? '',
    /^<110>1 2026-01-01T00:00:00\.000Z node_1_ warder-kms - one - \ufeff\{"auth_method"/,
  )
  assert.match(messages[1] ?? '', /^<108>1 /)
  cut()
  await record(log, ['three'])
  await until(() => messages.some((message) => message.includes(' three - ')))
  await forwarder.stop()
  await log.close()
  const seqs = new Set(messages.map((message) => readSeq(message.slice(message.indexOf('{')))))
  assert.deepEqual([...seqs].sort(), [1, 2, 3])
})

test('a syslog server with the certificate of another host receives nothing', async () => {
  const { messages, port } = await syslogServer()
  const target = createSyslogTarget({
    host: '127.0.0.1',
    port,
    allowPrivateNetworks: true,
    proxy: undefined,
    caFile: undefined,
    timeoutMs: 2000,
  })
  const line =
    '{"time":"2026-01-01T00:00:00.000Z","node":"n","service":"kms","operation":"o","outcome":"success"}'
  await assert.rejects(target.send([{ seq: 1, line }]))
  const inside = createSyslogTarget({
    host: '127.0.0.1',
    port,
    allowPrivateNetworks: false,
    proxy: undefined,
    caFile,
    timeoutMs: 2000,
  })
  await assert.rejects(inside.send([{ seq: 1, line }]), /not a public address/)
  assert.equal(messages.length, 0)
})

test('syslog takes a tunnel of the proxy, behind which TLS is verified', async () => {
  const { messages, port } = await syslogServer()
  const proxy = await startProxy()
  const settings = {
    outbound_allow_private_networks: false,
    outbound_ca_file: caFile,
    outbound_proxy: proxy.url,
    outbound_proxy_credentials_file: undefined,
    outbound_proxy_resolves: true,
    outbound_no_proxy: [],
  }
  const access = readOutboundAccess(settings, room, {})
  const line =
    '{"time":"2026-01-01T00:00:00.000Z","node":"n","service":"kms","operation":"o","outcome":"success"}'
  const target = createSyslogTarget({ ...access, host: 'logs.example', port, timeoutMs: 2000 })
  await target.send([{ seq: 1, line }])
  await until(() => messages.length === 1)
  assert.deepEqual(
    proxy.seen.map(({ method, target }) => `${method} ${target}`),
    [`CONNECT logs.example:${port}`],
  )
  const other = createSyslogTarget({ ...access, host: 'other.example', port, timeoutMs: 2000 })
  await assert.rejects(other.send([{ seq: 1, line }]), /does not match certificate/)
  proxy.fault = () => ({ status: 403, text: '' })
  const refused = createSyslogTarget({ ...access, host: 'logs.example', port, timeoutMs: 2000 })
  await assert.rejects(refused.send([{ seq: 1, line }]), /refused a connection to logs\.example:\d+ with 403/)
  target.close()
  await proxy.close()
})

test('names that a record holds cannot break the head of a message', () => {
  const line = JSON.stringify({
    time: 'T',
    node: 'a b\n<1>',
    service: 'kms',
    operation: 'x'.repeat(100),
    outcome: 'success',
  })
  assert.equal(
    formatSyslogMessage(line).split(' \ufeff')[0],
    `<110>1 T a_b_<1> warder-kms - ${'x'.repeat(32)} -`,
  )
})

test('the endless answer of a collector is cut, and delays no request', async () => {
  const folder = newFolder()
  let sent = 0
  const port = await listening(
    createServer(pair, (_, response) => {
      response.writeHead(200)
      const more = (): void => {
        do sent += 65_536
        while (!response.destroyed && response.write(Buffer.alloc(65_536)))
      }
      response.on('drain', more)
      response.on('error', () => undefined)
      more()
    }),
  )
  const log = await openLog(folder)
  const url = `https://127.0.0.1:${port}/`
  await record(log, ['one'])
  const forwarder = forward(
    folder,
    createCollectorTarget({ url, tokenFile: undefined, outbound: outbound() }),
    log,
  )
  await until(() => sent > 65_536)
  await record(log, ['two'])
  await forwarder.stop()
  await log.close()
  assert.equal(log.head.seq, 2)
  assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were read`)
})

test('a syslog server that reads nothing is given up, and what it may not have is sent again', async () => {
  const messages: string[] = []
  let reads = false
  const port = await listening(
    createTlsServer(pair, (socket) => {
      closers.push(() => socket.destroy())
      socket.on('error', () => undefined)
      if (reads) socket.on('data', (chunk: Buffer) => messages.push(chunk.toString('utf8')))
      else socket.pause()
    }),
  )
  const where = {
    host: '127.0.0.1',
    port,
    allowPrivateNetworks: true,
    proxy: undefined,
    caFile,
    timeoutMs: 300,
  }
  const target = createSyslogTarget(where)
  const formatLine = (seq: number): string =>
    JSON.stringify({
      time: 'T',
      node: 'n',
      service: 'kms',
      operation: 'o',
      outcome: 'success',
      seq,
      pad: 'x'.repeat(1_000_000),
    })
  let taken = 0
  await assert.rejects(async () => {
    for (;;) {
      await target.send([{ seq: taken + 1, line: formatLine(taken + 1) }])
      taken += 1
    }
  }, /does not accept data|closed the connection/)
  assert.ok(taken < 100, 'what is not read is not kept in memory without end')
  reads = true
  await target.send([{ seq: taken + 1, line: formatLine(taken + 1) }])
  const has = (seq: number) => messages.join('').includes(`"seq":${seq},`)
  await until(() => has(taken + 1))
  if (taken > 0) assert.ok(has(taken), 'the piece before may not have arrived')
  target.close()
})
