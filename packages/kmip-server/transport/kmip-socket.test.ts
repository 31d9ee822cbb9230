import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { AuditEvent } from '@warder/audit'
import { type Metrics, systemClock } from '@warder/base'
import { strictLog } from '@warder/base/testing'
import { clientCertificates } from '@warder/identity/testing'
import {
  byteString,
  decodeNode,
  decodeRequest,
  encodeResponse,
  encodeTtlv,
  enumeration,
  frameLength,
  integer,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import {
  type ClientRevocation,
  createClientRevocation,
  ensureLocalAuthority,
  listClientCertificates as issuedCertificates,
  newTicketKeys,
  readClientCrls,
  revokeClientCertificates,
  type TokenBuckets,
  tlsProfile,
} from '@warder/server'
import { renegotiate } from '@warder/server/testing'
import type { KmipCaller, KmipEngine } from '../engine/types.ts'
import type { SocketLimits } from './connection.ts'
import { createKmipSocket, type KmipSocket } from './kmip-socket.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-kmip-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const certificates = [
  { name: 'auth', commonName: 'Warder auth' },
  { name: 'kms', commonName: 'Warder kms' },
  { name: 'kms-rsa', commonName: 'Warder kms', keyType: 'rsa' as const, optional: true },
  { name: 'client', commonName: 'kmip-client', purpose: 'client' as const },
]
await ensureLocalAuthority({ folder, clock: systemClock, certificates })
const otherFolder = join(folder, 'other')
await ensureLocalAuthority({ folder: otherFolder, clock: systemClock, certificates })
const file = (name: string): string => join(folder, name)
const pem = (name: string): Buffer => readFileSync(file(name))
const profile = (clientsCaFile = file('ca.crt')) =>
  tlsProfile({
    certFile: file('kms.crt'),
    keyFile: file('kms.key'),
    clientsCaFile,
    requireClientCertificate: true,
    ticketKeys: newTicketKeys(),
  })
const identity = {
  ca: pem('ca.crt'),
  cert: pem('client.crt'),
  key: pem('client.key'),
  servername: 'localhost',
}

const metrics: Metrics = {
  operation: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
  collected: () => undefined,
  exposition: async () => '',
}

interface Served extends AsyncDisposable {
  readonly socket: KmipSocket
  readonly port: number
  readonly callers: KmipCaller[]
  readonly records: AuditEvent[]
}

type Answer = (bytes: Uint8Array, caller: KmipCaller) => ReturnType<KmipEngine['answer']>

/** Answers every item with success and its id. */
const echo: Answer = async (bytes) => {
  const { version, items } = decodeRequest(bytes, 'ttlv')
  return encodeResponse(
    {
      version,
      bare: false,
      timeStamp: 0,
      items: items.map(({ operation, uniqueBatchItemId }) => ({
        operation,
        uniqueBatchItemId,
        status: 'Success',
        payload: [],
      })),
    },
    'ttlv',
  )
}

async function serve(
  options: {
    limits?: Partial<SocketLimits>
    answer?: Answer
    clientsCa?: string
    now?: () => number
    rateLimiter?: TokenBuckets
    clientRevocation?: ClientRevocation
    lines?: string[]
  } = {},
): Promise<Served> {
  const callers: KmipCaller[] = []
  const records: AuditEvent[] = []
  const answer = options.answer ?? echo
  const socket = createKmipSocket({
    engine: {
      answer(bytes, _encoding, caller) {
        callers.push(caller)
        return answer(bytes, caller)
      },
    },
    authenticate: clientCertificates(systemClock),
    tls: profile(options.clientsCa),
    clock: options.now === undefined ? systemClock : { ...systemClock, now: options.now },
    log:
      options.lines === undefined
        ? strictLog
        : { ...strictLog, warn: (...said) => void options.lines?.push(JSON.stringify(said)) },
    metrics,
    audit: { record: (event) => records.push(event) },
    limits: options.limits ?? {},
    rateLimiter: options.rateLimiter,
    clientRevocation: options.clientRevocation,
  })
  const { port } = await socket.listen({ host: '127.0.0.1', port: 0 })
  return { socket, port, callers, records, [Symbol.asyncDispose]: () => socket.drain(50) }
}

/** A client that collects received bytes. */
class Client {
  readonly tls: TLSSocket
  readonly ready: Promise<unknown>
  readonly closed: Promise<void>
  #received = Buffer.alloc(0)
  #wake: () => void = () => undefined

  constructor(port: number, options: ConnectionOptions = {}) {
    this.tls = connect({ host: '127.0.0.1', port, ...identity, ...options })
    this.ready = new Promise((resolve, reject) => {
      this.tls.once('secureConnect', () => resolve(undefined))
      this.tls.once('error', reject)
    })
    this.ready.catch(() => undefined)
    this.tls.on('error', () => undefined)
    this.closed = new Promise((resolve) => this.tls.once('close', () => resolve()))
    this.tls.on('close', () => this.#wake())
    this.tls.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
  }

  async next(): Promise<TtlvNode> {
    for (;;) {
      const length = frameLength(this.#received)
      if (length !== undefined && this.#received.length >= length) {
        const message = this.#received.subarray(0, length)
        this.#received = this.#received.subarray(length)
        return decodeNode(message, 'ttlv')
      }
      if (this.tls.destroyed) throw new Error('the connection is closed')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async ask(bytes: Buffer): Promise<string> {
    this.tls.write(bytes)
    return idOf(await this.next())
  }

  [Symbol.dispose](): void {
    this.tls.destroy()
  }
}

function request(id: number, size = 0): Buffer {
  const version = structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, 1),
    integer(Tag.ProtocolVersionMinor, 2),
  ])
  const item = structure(Tag.BatchItem, [
    enumeration(Tag.Operation, 0x18),
    byteString(Tag.UniqueBatchItemID, Buffer.from([id])),
    structure(Tag.RequestPayload, size === 0 ? [] : [byteString(Tag.Data, Buffer.alloc(size))]),
  ])
  const header = structure(Tag.RequestHeader, [version, integer(Tag.BatchCount, 1)])
  return Buffer.from(encodeTtlv(structure(Tag.RequestMessage, [header, item])))
}

function idOf(node: TtlvNode): string {
  const ids: string[] = []
  const walk = (inner: TtlvNode): void => {
    if (inner.type === 'Structure') for (const member of inner.value) walk(member)
    else if (inner.tag === Tag.UniqueBatchItemID && inner.type === 'ByteString')
      ids.push(String(inner.value[0]))
    else if (inner.tag === Tag.ResultReason) ids.push(`reason ${inner.value}`)
  }
  walk(node)
  return ids.join(' ')
}

test('a connection carries many requests, and the certificate identifies the caller', async () => {
  await using served = await serve()
  using client = new Client(served.port)
  for (const id of [1, 2, 3]) assert.equal(await client.ask(request(id)), String(id))
  assert.deepEqual(
    served.callers.map(({ principal, clientAddress, certificate }) => {
      assert.equal(certificate?.toString(), new X509Certificate(identity.cert).toString())
      return [principal?.name, principal?.method, clientAddress]
    }),
    Array(3).fill(['kmip-client', 'tls_auth', '127.0.0.1']),
  )
  assert.equal(new Set(served.callers.map(({ requestId }) => requestId)).size, 3)
})

test('pipelined requests are answered in order, however long each takes', async () => {
  let working = 0
  await using served = await serve({
    answer: async (bytes, caller) => {
      assert.equal(++working, 1, 'one at a time')
      const { items } = decodeRequest(bytes, 'ttlv')
      const id = items[0]?.uniqueBatchItemId?.[0] ?? 0
      for (let turns = 40 - id; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
      working--
      return echo(bytes, caller)
    },
  })
  using client = new Client(served.port)
  const ids = Array.from({ length: 40 }, (_, index) => index)
  client.tls.write(Buffer.concat(ids.map((id) => request(id))))
  for (const id of ids) assert.equal(idOf(await client.next()), String(id))
})

test('Two requests in one packet, and a request one byte at a time', async () => {
  await using served = await serve()
  using client = new Client(served.port)
  client.tls.write(Buffer.concat([request(1), request(2)]))
  assert.equal(idOf(await client.next()), '1')
  assert.equal(idOf(await client.next()), '2')
  client.tls.setNoDelay(true)
  for (const byte of request(3)) {
    client.tls.write(Buffer.from([byte]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(idOf(await client.next()), '3')
})

test('a large request and the request pipelined behind it are read completely', async () => {
  await using served = await serve()
  using client = new Client(served.port)
  client.tls.write(Buffer.concat([request(1, 3_000_000), request(2, 200_000), request(3)]))
  for (const id of [1, 2, 3]) assert.equal(idOf(await client.next()), String(id))
})

test('a client that half-closes after its requests still gets every response', async () => {
  await using served = await serve({
    answer: async (bytes, caller) => {
      await new Promise((resolve) => setImmediate(resolve))
      return echo(bytes, caller)
    },
  })
  using client = new Client(served.port, {})
  await client.ready
  client.tls.end(Buffer.concat([request(1), request(2)]))
  assert.equal(idOf(await client.next()), '1')
  assert.equal(idOf(await client.next()), '2')
  await client.closed
})

test('a client that half-closes while many requests wait still gets every response', async () => {
  await using served = await serve()
  using client = new Client(served.port)
  const ids = Array.from({ length: 250 }, (_, index) => String(index))
  client.tls.write(Buffer.concat(ids.map((id) => request(Number(id)))))
  const answered = [idOf(await client.next())]
  client.tls.end()
  while (answered.length < ids.length) answered.push(idOf(await client.next()))
  assert.deepEqual(answered, ids)
  await client.closed
})

test('a large response is sent completely to a client that half-closed and reads slowly', async () => {
  const large = (id: number): Buffer => request(id, 4_000_000)
  await using served = await serve({ limits: { lingerMs: 5 }, answer: async () => large(1) })
  using client = new Client(served.port)
  await client.ready
  client.tls.pause()
  client.tls.end(request(1))
  while (served.callers.length === 0) await setTimeout(5)
  await setTimeout(50)
  client.tls.resume()
  assert.equal(idOf(await client.next()), '1')
  await client.closed
})

test('a connection without a certificate of the client authority is refused', async () => {
  await using served = await serve()
  const strangers: ConnectionOptions[] = [
    { cert: undefined, key: undefined },
    {
      cert: readFileSync(join(otherFolder, 'client.crt')),
      key: readFileSync(join(otherFolder, 'client.key')),
    },
  ]
  for (const stranger of strangers) {
    using client = new Client(served.port, stranger)
    client.tls.write(request(1))
    await assert.rejects(client.next())
  }
  assert.equal(served.callers.length, 0)
})

test('HTTP and other bytes that are not KMIP end their connection, and no other', async () => {
  await using served = await serve({ limits: { handshakeMs: 200 } })
  using good = new Client(served.port)
  await good.ask(request(1))
  for (const garbage of [
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    '\0\0\0\0',
    'B\0x\x02\0\0\0\x04',
    'B\0x\x01\0\0\0\x01',
  ]) {
    using client = new Client(served.port)
    client.tls.write(garbage, 'latin1')
    await assert.rejects(client.next())
    const plain = connectPlain(served.port, '127.0.0.1')
    plain.on('error', () => undefined)
    plain.resume()
    const closed = new Promise((resolve) => plain.once('close', resolve))
    plain.write(garbage, 'latin1')
    plain.end()
    await closed
  }
  assert.equal(await good.ask(request(2)), '2')
})

test("an oversized message is answered in the client's version, then the connection ends", async () => {
  await using served = await serve({ limits: { messageBytes: 10_000 } })
  using client = new Client(served.port)
  assert.equal(await client.ask(request(1, 9000)), '1')
  client.tls.write(request(2, 20_000))
  const answer = await client.next()
  assert.equal(idOf(answer), 'reason 4')
  const [header] = answer.type === 'Structure' ? answer.value : []
  assert.match(JSON.stringify(header), /"value":1},.*"value":2}/)
  await client.closed
  assert.equal(served.callers.length, 1)
})

test('a message with a malformed body is answered by the engine, and the connection stays open', async () => {
  await using served = await serve({
    answer: (bytes, caller) => (bytes.length > 200 ? echo(request(7), caller) : echo(bytes, caller)),
  })
  using client = new Client(served.port)
  assert.equal(await client.ask(request(1, 400)), '7')
  assert.equal(await client.ask(request(2)), '2')
})

test('half-open handshakes and connections beyond the limits do not delay other clients', async () => {
  await using served = await serve({ limits: { handshakeMs: 80, connectionsPerAddress: 6 } })
  const silentOnes: Socket[] = []
  for (let count = 0; count < 6; count++) silentOnes.push(connectPlain(served.port, '127.0.0.1'))
  await Promise.all(silentOnes.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  const ends = silentOnes.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  for (const socket of silentOnes) socket.on('error', () => undefined).resume()
  using refused = new Client(served.port)
  refused.tls.write(request(1))
  await assert.rejects(refused.next())
  await Promise.all(ends)
  using client = new Client(served.port)
  assert.equal(await client.ask(request(1)), '1')
})

test('an incomplete message and an idle connection are closed after their timeouts', async () => {
  await using served = await serve({ limits: { messageMs: 60, idleMs: 400 } })
  using slow = new Client(served.port)
  assert.equal(await slow.ask(request(1)), '1')
  const bytes = request(2)
  const drip = setInterval(() => slow.tls.write(bytes.subarray(0, 1)), 20)
  await slow.closed
  clearInterval(drip)
  using idle = new Client(served.port)
  await idle.ready
  await idle.closed
})

test('a connection that waits longer than its idle time for a response is not idle', async () => {
  const answer: Answer = async (bytes, caller) => {
    await setTimeout(400)
    return echo(bytes, caller)
  }
  await using served = await serve({ limits: { idleMs: 100 }, answer })
  using client = new Client(served.port)
  assert.equal(await client.ask(request(1)), '1')
  await client.closed
})

test('a client that does not read its responses does not make the server buffer them', async () => {
  const answer = async () => new Uint8Array(16_384)
  await using served = await serve({ limits: { idleMs: 500 }, answer })
  using client = new Client(served.port)
  await client.ready
  client.tls.pause()
  const asked = 20_000
  client.tls.write(Buffer.concat(Array.from({ length: asked }, (_, id) => request(id, 1000))))
  // The connection is idle: its limit ends it, and the waiting requests are not executed.
  await client.closed
  assert.ok(served.callers.length < asked / 2, `${served.callers.length} of ${asked} answered`)
})

test('a client above its rate waits, and its requests are neither lost nor reordered', async () => {
  const asked: string[] = []
  await using served = await serve({
    rateLimiter: {
      take(address) {
        asked.push(address)
        return { allowed: asked.length % 3 !== 0, retryAfterSeconds: 0.01 }
      },
    },
  })
  using client = new Client(served.port)
  const ids = Array.from({ length: 20 }, (_, index) => index)
  client.tls.write(Buffer.concat(ids.map((id) => request(id))))
  for (const id of ids) assert.equal(idOf(await client.next()), String(id))
  assert.equal(asked.length, 29)
  assert.ok(asked.every((address) => address === '127.0.0.1'))
})

test('a resumed session still identifies the client, and is refused under another authority', async () => {
  await using served = await serve()
  using first = new Client(served.port, { maxVersion: 'TLSv1.2' })
  await first.ready
  await first.ask(request(1))
  const session = first.tls.getSession()
  assert.ok(session)
  using again = new Client(served.port, { maxVersion: 'TLSv1.2', session })
  assert.equal(await again.ask(request(2)), '2')
  assert.ok(again.tls.isSessionReused())
  assert.equal(served.callers[1]?.principal?.name, 'kmip-client')
  served.socket.setTls(profile(join(otherFolder, 'ca.crt')))
  using late = new Client(served.port, { maxVersion: 'TLSv1.2', session })
  late.tls.write(request(3))
  await assert.rejects(late.next())
  assert.equal(await again.ask(request(4)), '4')
})

test('an expired certificate ends the connection that it opened', async () => {
  let now = Date.now()
  await using served = await serve({ now: () => now })
  using client = new Client(served.port)
  assert.equal(await client.ask(request(1)), '1')
  now += 400 * 24 * 3_600_000
  client.tls.write(request(2))
  await assert.rejects(client.next())
  assert.equal(served.callers.length, 1)
})

test('a shutdown completes the current message and ends idle connections', async () => {
  let release: () => void = () => undefined
  const begun = Promise.withResolvers<void>()
  await using served = await serve({
    answer: async (bytes, caller) => {
      if (bytes.length > 1000) {
        begun.resolve()
        await new Promise<void>((resolve) => {
          release = resolve
        })
      }
      return echo(bytes, caller)
    },
  })
  using idle = new Client(served.port)
  using busy = new Client(served.port)
  await idle.ask(request(1))
  busy.tls.write(request(2, 2000))
  await begun.promise
  const drained = served.socket.drain(10_000)
  await idle.closed
  release()
  assert.equal(idOf(await busy.next()), '2')
  await busy.closed
  await drained
  using late = new Client(served.port)
  await assert.rejects(late.ready)
})

// CVE-2011-1473
test('a client of TLS 1.2 cannot renegotiate', async () => {
  await using served = await serve()
  assert.match(await renegotiate(served.port, identity), /NO_RENEGOTIATION/)
})

test('a revoked certificate ends its connections at the next message, and opens no new ones', async () => {
  const revocation = createClientRevocation(systemClock, undefined)
  await using served = await serve({ clientRevocation: revocation })
  using open = new Client(served.port)
  assert.equal(await open.ask(request(1)), '1')
  await revokeClientCertificates(folder, issuedCertificates(folder), 'keyCompromise', systemClock)
  const crls = { authoritiesFile: file('ca.crt'), files: [file('ca.crl')], strict: false, crlsOptional: true }
  revocation.set(readClientCrls(crls).revoked)
  open.tls.write(request(2))
  await open.closed
  assert.equal(served.callers.length, 1, 'the message was not answered')
  using anew = new Client(served.port)
  await anew.closed
  assert.equal(served.callers.length, 1)
  revocation.set(undefined)
  using again = new Client(served.port)
  assert.equal(await again.ask(request(3)), '3')
})

test('a client certificate that the handshake refuses leaves a line and a record, with address and reason', async () => {
  const log: string[] = []
  await using served = await serve({ lines: log })
  const other = (name: string) => readFileSync(join(otherFolder, name))
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const stranger = new Client(served.port, {
      cert: other('client.crt'),
      key: other('client.key'),
      maxVersion,
    })
    await stranger.closed
    for (let tries = 0; served.records.length === 0 && tries < 100; tries += 1) await setTimeout(10)
    const [record, ...more] = served.records.splice(0)
    assert.deepEqual(more, [])
    const { operation, client_ip, outcome, status, reason, details } = record ?? {}
    assert.deepEqual(
      { operation, client_ip, outcome, status, reason, details },
      {
        operation: 'kmip.connect',
        client_ip: '127.0.0.1',
        outcome: 'failure',
        status: 401,
        reason: 'client_certificate_refused',
        details: { problem: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
      },
    )
  }
  assert.equal(log.length, 2)
  assert.match(log[0] ?? '', /127\.0\.0\.1.*UNABLE_TO_VERIFY|UNABLE_TO_VERIFY.*127\.0\.0\.1/)
  // A probe without a certificate is no client that is refused.
  const { cert: _cert, key: _key, ...nobody } = identity
  const probe = connect({ host: '127.0.0.1', port: served.port, ...nobody }).on('error', () => undefined)
  await new Promise((resolve) => probe.once('close', resolve))
  await setTimeout(50)
  assert.deepEqual(served.records, [])
})
