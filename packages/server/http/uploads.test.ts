import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { post } from '../operations/define.ts'
import type { IncomingRequest } from '../operations/types.ts'
import { BodyBudget, BodyReservation, jsonCost, smallBodyBytes } from './body-budget.ts'
import { live } from './fixtures/live.ts'
import { common, define } from './fixtures/paced.ts'

const MiB = 1024 * 1024
const act = (_input: unknown, { request }: { request: IncomingRequest }) => ({ bytes: request.body.length })
const open = define({ ...common, name: 'test.open', route: post('/open'), act })
const guarded = define({
  ...common,
  name: 'test.guarded',
  route: post('/guarded'),
  access: { name: 'signed in' },
  reach: [],
  act,
})
const authenticateTest = ({ headers }: IncomingRequest) =>
  headers.authorization === 'alice' ? { name: 'alice', method: 'test' } : undefined
const base = {
  services: undefined,
  operations: [open, guarded],
  authenticate: authenticateTest,
  tls: undefined,
}

interface Upload extends Disposable {
  readonly socket: Socket
  /** Everything received once nothing more arrives for a moment. */
  answer(): Promise<string>
}

async function upload(port: number, from: string, text: string): Promise<Upload> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from })
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write(text)
  return {
    socket,
    async answer() {
      await new Promise((resolve) => setTimeout(resolve, 150))
      return received
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

const head = (path: string, bytes: number, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n${more}\r\n`
const formatUnfinished = (bytes: number) => head('/open', bytes) + 'a'.repeat(bytes - 1)
const readStatus = (answer: string) => answer.slice(9, 12)

test('uploads that are never finished keep small requests out of nothing', async () => {
  await using server = await live({ ...base, limits: { bufferedBytes: 4 * MiB, bodyBytes: MiB } })
  using slow = new DisposableStack()
  const statuses: string[] = []
  for (let last = 2; last < 10; last++) {
    const one = slow.use(await upload(server.port, `127.0.0.${last}`, formatUnfinished(MiB)))
    statuses.push(readStatus(await one.answer()))
  }
  assert.deepEqual(statuses, ['', '', '', '503', '503', '503', '503', '503'])
  using large = await upload(server.port, '127.0.0.1', formatUnfinished(MiB))
  assert.match(await large.answer(), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1/i)
  using small = await upload(
    server.port,
    '127.0.0.1',
    head('/open', smallBodyBytes) + 'a'.repeat(smallBodyBytes - 10),
  )
  small.socket.write('a'.repeat(10))
  assert.match(await small.answer(), /^HTTP\/1\.1 200 [\s\S]*"bytes":65536/)
  slow.dispose()
  await large.answer()
  using after = await upload(server.port, '127.0.0.1', `${formatUnfinished(MiB)}a`)
  assert.match(await after.answer(), /^HTTP\/1\.1 200 /)
})

test('one client holds a half of what may be held; others have the rest', async () => {
  await using server = await live({ ...base, limits: { bufferedBytes: 8 * MiB, bodyBytes: MiB } })
  using slow = new DisposableStack()
  const statuses: string[] = []
  for (const last of [2, 2, 2, 2, 2, 3]) {
    const one = slow.use(await upload(server.port, `127.0.0.${last}`, formatUnfinished(MiB)))
    statuses.push(readStatus(await one.answer()))
  }
  assert.deepEqual(statuses, ['', '', '', '', '503', ''])
  // A body that arrives in one piece cannot be delayed: it does not count for its client.
  using whole = await upload(server.port, '127.0.0.2', `${head('/open', 100)}${'a'.repeat(100)}`)
  assert.match(await whole.answer(), /^HTTP\/1\.1 200 /)
})

test('addresses of one /64 are one client, and who holds nothing is not remembered', () => {
  const budget = new BodyBudget(1000, 100)
  const reservations = ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map(
    (ip) => new BodyReservation(budget, ip),
  )
  assert.deepEqual(
    reservations.map((reservation) => reservation.reserveMore(300, false)),
    [true, false, true],
  )
  assert.deepEqual([budget.held, budget.clients], [600, 2])
  for (const reservation of reservations) reservation.release()
  assert.deepEqual([budget.held, budget.clients], [0, 0])
})

test('a large JSON body counts with the text and the values that are made of it, a small one as it is', () => {
  const budget = new BodyBudget(1000, 100)
  const [large, small] = [
    new BodyReservation(budget, '192.0.2.1', jsonCost),
    new BodyReservation(budget, '192.0.2.2', jsonCost),
  ]
  assert.ok(large.reserveMore(100, true))
  assert.ok(small.reserveMore(100, false))
  assert.equal(budget.held, 400)
  assert.ok(!large.reserveMore(100, true), 'more than a half')
  large.release()
  assert.equal(budget.held, 100)
})

for (const [how, authenticate] of [
  ['at once', authenticateTest],
  ['later', async (request: IncomingRequest) => authenticateTest(request)],
] as const) {
  test(`a large body is read from authenticated callers, authenticated ${how}`, async () => {
    await using server = await live({ ...base, authenticate })
    const alice = 'Authorization: alice\r\n'
    const formatChunked = (who: string) =>
      `POST /guarded HTTP/1.1\r\nHost: a\r\n${who}Transfer-Encoding: chunked\r\n\r\n`
    const chunk = `8000\r\n${'a'.repeat(0x8000)}\r\n`
    for (const [text, wanted] of [
      [head('/guarded', MiB), '401'],
      [head('/guarded', MiB, 'Origin: https://evil.test\r\n'), '403'],
      [formatChunked('') + chunk + chunk + chunk, '401'],
      [head('/guarded', MiB, alice) + 'a'.repeat(MiB), '200'],
      [`${formatChunked(alice)}${chunk}${chunk}${chunk}0\r\n\r\n`, '200'],
      // A small one is read first, so that its connection is not lost.
      [head('/guarded', smallBodyBytes), ''],
      [head('/guarded', smallBodyBytes) + 'a'.repeat(smallBodyBytes), '401'],
      [head('/open', MiB), ''],
    ] as const) {
      using one = await upload(server.port, '127.0.0.1', text)
      assert.equal(readStatus(await one.answer()), wanted, text.slice(0, 100))
    }
  })
}

test('an unauthenticated client receives no 100 Continue for a large body', async () => {
  await using server = await live(base)
  using one = await upload(server.port, '127.0.0.1', head('/guarded', MiB, 'Expect: 100-continue\r\n'))
  assert.equal(readStatus(await one.answer()), '401')
})
