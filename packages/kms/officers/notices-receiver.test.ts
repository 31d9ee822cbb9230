import assert from 'node:assert/strict'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Secret, systemClock } from '@warder/base'
import { createOutbound } from '@warder/outbound'
import { ensureLocalAuthority } from '@warder/server'
import { createNotices, type Notices } from './notices.ts'

const secret = 'a secret of more than thirty-two characters'
const folder = mkdtempSync(join(tmpdir(), 'warder-receiver-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function authority(name: string): Promise<string> {
  const place = join(folder, name)
  const certificates = [{ name: 'receiver', commonName: 'receiver' }]
  await ensureLocalAuthority({ folder: place, clock: systemClock, certificates })
  return place
}

/** As a receiver verifies a notice: the time, then the MAC, in constant time. */
function isSigned(header: string, body: string, key: string): boolean {
  const [, seconds = '', mac = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > 300) return false
  const expected = createHmac('sha256', key).update(`${seconds}.${body}`).digest()
  return timingSafeEqual(expected, Buffer.from(mac.padEnd(64, '0'), 'hex'))
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void
const answers = {
  takes: (response) => response.writeHead(204).end(),
  slow: () => undefined,
  gone: (_, request) => request.socket.destroy(),
  redirects: (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  floods: (response) => response.writeHead(200).end(Buffer.alloc(2_000_000)),
  'speaks no HTTP': (_, request) => request.socket.end('no such protocol\r\n\r\n'),
  fails: (response) => response.writeHead(500).end(),
} as const satisfies Record<string, Answer>

interface Got {
  readonly event: string
  readonly path: string
  readonly signed: boolean
}

/** A receiver over HTTPS that answers as it is told, then takes everything. */
async function startReceiver(place: string, key = secret, ...script: (keyof typeof answers)[]) {
  const got: Got[] = []
  const server = createServer(
    { cert: readFileSync(join(place, 'receiver.crt')), key: readFileSync(join(place, 'receiver.key')) },
    (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const body = Buffer.concat(parts).toString()
        const signed = isSigned(String(request.headers['warder-signature']), body, key)
        got.push({ event: JSON.parse(body).event, path: request.url ?? '', signed })
        if (signed) answers[script.shift() ?? 'takes'](response, request)
        else response.writeHead(401).end()
      })
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { got, url: `https://localhost:${port}/notices`, close }
}

/** A sender that says when it has given up a notice. */
function sender(place: string, url: string): { readonly notices: Notices; givenUp(): Promise<void> } {
  const waiting: (() => void)[] = []
  let count = 0
  const write = (_: object, message: string): void => {
    if (!message.includes('abandoned')) return
    count += 1
    waiting.shift()?.()
  }
  const log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const outbound = createOutbound({
    allowPrivateNetworks: true,
    caFile: join(place, 'ca.crt'),
    timeoutMs: 500,
  })
  const options = { url, secret: Secret.fromText(secret), outbound, clock: systemClock, log, waits: [1, 1] }
  let seen = 0
  return {
    notices: createNotices(options),
    async givenUp() {
      seen += 1
      // Nobody waits for a notice, so nothing else keeps the process while its next try is due.
      const alive = setInterval(() => undefined, 1000)
      if (count < seen) await new Promise<void>((resolve) => waiting.push(resolve))
      clearInterval(alive)
    },
  }
}

test('a receiver that is slow, hangs up, floods or lies is tried three times, and later notices arrive in order', async () => {
  const place = await authority('good')
  const receiver = await startReceiver(
    place,
    secret,
    ...(['slow', 'gone', 'takes'] as const),
    ...(['redirects', 'floods', 'speaks no HTTP'] as const),
    ...(['fails', 'takes'] as const),
    ...(['fails', 'fails', 'fails'] as const),
  )
  const { notices, givenUp } = sender(place, receiver.url)
  for (const event of ['one', 'two', 'three', 'four']) notices.tell(event, { key: 'k' })
  await givenUp()
  await givenUp()
  assert.deepEqual(
    receiver.got.map(({ event }) => event),
    ['one', 'one', 'one', 'two', 'two', 'two', 'three', 'three', 'four', 'four', 'four'],
  )
  assert.ok(receiver.got.every(({ signed, path }) => signed && path === '/notices'))
  // Nobody is there any more: the same bound.
  await receiver.close()
  notices.tell('five', {})
  await givenUp()
  assert.equal(receiver.got.length, 11)
})

test('a receiver with another secret refuses what it is sent, and one with another certificate is sent nothing', async () => {
  const [place, other] = [await authority('mine'), await authority('theirs')]
  const doubting = await startReceiver(place, 'another secret of more than thirty-two characters')
  const first = sender(place, doubting.url)
  first.notices.tell('one', {})
  await first.givenUp()
  assert.deepEqual(
    doubting.got.map(({ signed }) => signed),
    [false, false, false],
  )
  await doubting.close()
  const impostor = await startReceiver(other)
  const second = sender(place, impostor.url)
  second.notices.tell('one', {})
  await second.givenUp()
  assert.equal(impostor.got.length, 0)
  await impostor.close()
})
