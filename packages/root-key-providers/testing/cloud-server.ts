import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartupError, systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'
import {
  migrate,
  openProvidedRootKey,
  openSeal,
  openSqlite,
  type RootKeyProvider,
  RootKeyUnavailable,
  sealMigrations,
} from '@warder/storage'

/** A request, as a server received it. */
export interface Received {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** A reply; a body that is not a text is sent as JSON. `hang`: none. */
export type Scripted =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'

export type Fault = (request: Received) => Scripted | undefined

/** A server that replies like that of a cloud: over HTTPS, and without TLS as a metadata service. */
export interface CloudServer {
  /** `https://127.0.0.1:PORT` */
  readonly url: string
  /** `http://127.0.0.1:PORT` */
  readonly plainUrl: string
  readonly caFile: string
  /** A folder that is removed with the server. */
  readonly folder: string
  /** All requests, in order. */
  readonly received: Received[]
  /** Replaces replies while work runs; undefined leaves one as it is. Empties `received` before. */
  withFault<Result>(fault: Fault, run: () => Promise<Result>): Promise<Result>
  close(): void
}

export async function startCloudServer(serve: (request: Received) => Scripted): Promise<CloudServer> {
  let fault: Fault = () => undefined
  const folder = mkdtempSync(join(tmpdir(), 'warder-cloud-'))
  const certificates = [{ name: 'server', commonName: 'Server' }]
  await ensureLocalAuthority({ folder, clock: systemClock, certificates })
  const listen = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { method = '', url: path = '' } = request
    const headers = request.headers as Record<string, string | undefined>
    const one: Received = { method, path, headers, body: Buffer.concat(parts) }
    server.received.push(one)
    const reply = fault(one) ?? serve(one)
    if (reply === 'hang') return
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(text)
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    void listen(request, response)
  const [cert, key] = ['server.crt', 'server.key'].map((name) => readFileSync(join(folder, name)))
  const servers = [createServer({ cert, key }, onRequest), createPlainServer(onRequest)] as const
  const ports: number[] = []
  for (const one of servers) {
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve))
    ports.push((one.address() as AddressInfo).port)
  }
  const server: CloudServer = {
    url: `https://127.0.0.1:${ports[0]}`,
    plainUrl: `http://127.0.0.1:${ports[1]}`,
    caFile: join(folder, 'ca.crt'),
    folder,
    received: [],
    async withFault(replies, run) {
      fault = replies
      server.received.length = 0
      try {
        return await run()
      } finally {
        fault = () => undefined
      }
    },
    close() {
      for (const one of servers) {
        one.closeAllConnections()
        one.close()
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return server
}

/** Additional data of a root key, as the storage package encodes it: length and bytes of each part. */
export function toContext(service: string): Buffer {
  const parts = [service, 'root_key_source', '0123456789abcdef0123456789abcdef', 'wrapped']
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(part.length)
      return [length, Buffer.from(part)]
    }),
  )
}

/** Requires the refusal of a source that cannot be used. */
export async function refuses(run: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof StartupError, String(error))
    assert.match(error.message, message)
    return true
  })
}

/** Requires a temporary error, after which the source is tried again. */
export async function isUnavailable(run: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof RootKeyUnavailable, String(error))
    assert.match(error.message, message)
    return true
  })
}

/**
 * Both services start with a source and open their databases again, also if the first requests are throttled, but not
 * while the source does not respond.
 */
export async function testDatabases(
  cloud: CloudServer,
  create: () => RootKeyProvider,
  throttled: Scripted,
): Promise<void> {
  const clock = systemClock
  for (const service of ['auth', 'kms']) {
    const db = openSqlite({ path: join(cloud.folder, `${service}.db`) })
    await migrate(db, 'seal', sealMigrations)
    const waits: number[] = []
    const open = (more: { readonly timeoutMs?: number; readonly attempts?: number } = {}) =>
      openProvidedRootKey({
        ...{ db, service, provider: create(), create: true, clock },
        retries: { wait: async (ms: number) => void waits.push(ms), ...more },
      })
    const place = { table: 't', row: 'r', column: 'c' }
    const seal = await openSeal({ db, service, clock, rootKeys: await open() })
    const sealed = seal.seal(place, Buffer.from('x'))
    let left = 2
    const throttle: Fault = () => {
      left -= 1
      return left >= 0 ? throttled : undefined
    }
    const rootKeys = await cloud.withFault(throttle, () => open())
    assert.deepEqual(waits, [1000, 2000])
    const opened = await (await openSeal({ db, service, clock, rootKeys })).open(place, sealed)
    assert.equal(Buffer.from(opened).toString(), 'x')
    await cloud.withFault(
      () => 'hang',
      () =>
        refuses(
          open({ timeoutMs: 100, attempts: 1 }),
          /cannot be used: no response within 100 ms; without it the root key stays wrapped/,
        ),
    )
    await db.close()
  }
}
