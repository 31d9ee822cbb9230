import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Metrics } from '@warder/base'
import fc from 'fast-check'
import { ask, createWatchedOperations, readTold } from '../fixtures/lists.ts'
import { live, testAudit } from '../fixtures/live.ts'
import { idle, plainWire, secureWire } from '../fixtures/wire.ts'
import { createTokenBuckets } from '../token-buckets.ts'

const inner = 'GET /hello HTTP/1.1\r\nHost: a\r\n\r\n'
const line = 'LIST /keys HTTP/1.1\r\n'
const head = `${line}Host: a\r\n`
const chunked = 'Transfer-Encoding: chunked\r\n'

/** RFC 9112 §2.2, §3, §5, §6.3: each is no request, or one that could be cut in two ways. */
const refused: Readonly<Record<string, string>> = {
  'lower case': ask('list', '/keys'),
  'mixed case': ask('LISt', '/keys'),
  'a longer verb': ask('LISTS', '/keys'),
  'a verb that ends with it': ask('UNLIST', '/keys'),
  'another verb that ends with it': ask('XLIST', '/keys'),
  'a tab behind the verb': 'LIST\t/keys HTTP/1.1\r\nHost: a\r\n\r\n',
  'a line end behind the verb': 'LIST\r\n\r\n',
  'a NUL behind the verb': 'LIST\0/keys HTTP/1.1\r\nHost: a\r\n\r\n',
  'a blank before the verb': ` ${ask('LIST', '/keys')}`,
  'no blank behind the verb': 'LIST/keys HTTP/1.1\r\nHost: a\r\n\r\n',
  'no target': 'LIST  HTTP/1.1\r\nHost: a\r\n\r\n',
  'no version': 'LIST /keys\r\nHost: a\r\n\r\n',
  'an unknown version': 'LIST /keys HTTP/1.2\r\nHost: a\r\n\r\n',
  'the target of CONNECT': 'LIST evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  'a blank inside the target': 'LIST /keys /hello HTTP/1.1\r\nHost: a\r\n\r\n',
  'bare LF everywhere': 'LIST /keys HTTP/1.1\nHost: a\n\n',
  'a bare LF after the request line': 'LIST /keys HTTP/1.1\nHost: a\r\n\r\n',
  'a folded header': `${head}X-A: b\r\n Content-Length: 5\r\n\r\n`,
  'a folded transfer coding': `${head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`,
  'a blank before the colon': `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  'CL.TE': `${head}Content-Length: ${inner.length + 5}\r\n${chunked}\r\n0\r\n\r\n`,
  'two lengths that differ': `${head}Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n`,
  'an unknown coding': `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a coding behind chunked': `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'a malformed chunk': `${head}${chunked}\r\nzz\r\n`,
}

test('what is no LIST, or could be cut in two ways, is 400 and ends the connection, whatever stood before it', async (t) => {
  const { reached, options } = createWatchedOperations()
  await using server = await live(options)
  for (const [name, bytes] of Object.entries(refused)) {
    await t.test(name, async () => {
      for (const before of ['', inner, ask('LIST', '/keys')]) {
        reached.length = 0
        using wire = await secureWire(server.port)
        if (before !== '') {
          wire.send(before)
          assert.equal((await wire.reply()).status, 200)
        }
        wire.send(Buffer.from(bytes + inner, 'latin1'))
        const { status, headers } = await wire.reply()
        assert.equal(status, 400)
        assert.equal(headers.connection, 'close')
        assert.equal(await wire.rest(), '')
        assert.equal(reached.length, before === '' ? 0 : 1)
      }
    })
  }
  await idle(server)
})

test('a LIST with a body is cut as any request with one is, and without a Host it is 400', async () => {
  const { options } = createWatchedOperations()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(`${head}Content-Length: ${inner.length}\r\n\r\n${inner}${inner}`)
  assert.equal(await readTold(wire), `LIST /keys  ${inner.length}`)
  assert.equal(await readTold(wire), 'GET /hello  0')
  wire.send(`${head}${chunked}\r\n4\r\nLIST\r\n0\r\n\r\n${ask('LIST', '/keys')}`)
  assert.equal(await readTold(wire), 'LIST /keys  4')
  assert.equal(await readTold(wire), 'LIST /keys  0')
  wire.send(`${head}Content-Length: 2000\r\n\r\n`)
  assert.equal(await readTold(wire), 413)
  for (const hosts of ['', 'Host: a\r\nHost: b\r\n', 'Host: a/b\r\n'])
    assert.match(await server.raw(`${line}${hosts}Connection: close\r\n\r\n`), /^HTTP\/1\.1 400 /)
  assert.match(
    await server.raw(`LIST http://a/keys HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1\.1 400 /,
  )
})

test('a head that is too large is 431, one that is too slow 408', async () => {
  const { options } = createWatchedOperations()
  const limits = { maxHeaderBytes: 2048, headersTimeoutMs: 60, connectionsCheckingIntervalMs: 20 }
  await using server = await live({ ...options, limits })
  const long = await server.raw(`${head}X-Long: ${'a'.repeat(1024 * 1024)}`)
  assert.match(long, /^HTTP\/1\.1 431 /)
  assert.match(await server.raw(`LIST /${'a'.repeat(4000)}`), /^HTTP\/1\.1 431 /)
  for (const part of ['LI', 'LIS', 'LIST', 'LIST ', `${head}X-A`])
    assert.match(await server.raw(part), /^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/, part)
  await idle(server)
})

test('the beginning of a LIST whose sender ends, or goes on with other bytes, is refused', async () => {
  const { reached, options } = createWatchedOperations()
  await using server = await live(options)
  for (const [begin, end] of [
    ['LIS', 'K /keys'],
    ['LIST', 'S /keys'],
    ['UN', ask('LIST', '/keys')],
    ['U', ask('NLIST', '/keys')],
    ['LI', ask('LIST', '/keys')],
    ['GE', ask('ST', '/keys')],
  ] as const) {
    using wire = await secureWire(server.port)
    wire.send(begin)
    await new Promise((resolve) => setTimeout(resolve, 5))
    wire.send(`${end}${inner}`)
    assert.equal(await readTold(wire), 400, `${begin}|${end}`)
    assert.equal(await wire.rest(), '')
  }
  using ended = await secureWire(server.port)
  ended.socket.end('LIS')
  assert.doesNotMatch(await ended.rest(), /^HTTP\/1\.1 200/)
  assert.deepEqual(reached, [])
})

test('nothing is served behind what was refused, while its refusal waits for earlier replies', async () => {
  for (const tls of [true, false]) {
    for (const nonsense of ['LIX /keys', 'XX', 'LISTX', 'LI', `${ask('LIST', '/keys')}LIX`]) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const { reached, options } = createWatchedOperations(promise)
      await using server = await live({ ...options, ...(!tls && { tls: undefined }) })
      using wire = await (tls ? secureWire : plainWire)(server.port)
      wire.send(ask('GET', '/slow'))
      while (server.service.inFlight() === 0) await new Promise((soon) => setTimeout(soon, 1))
      for (const bytes of [nonsense, 'X', ask('LIST', '/keys'), ask('LIST', '/keys')]) {
        await new Promise((soon) => setTimeout(soon, 4))
        wire.send(bytes)
      }
      await new Promise((soon) => setTimeout(soon, 4))
      resolve()
      const served = nonsense.startsWith('LIST /') ? ['GET /slow  0', 'LIST /keys  0'] : ['GET /slow  0']
      for (const one of served) assert.equal(await readTold(wire), one)
      assert.equal(await readTold(wire), 400, nonsense)
      assert.equal(await wire.rest(), '')
      assert.equal(reached.length, served.length)
      await idle(server)
    }
  }
})

test('bytes of an earlier request are not taken for the beginning of a LIST', async () => {
  const { options } = createWatchedOperations()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n')
  await new Promise((resolve) => setTimeout(resolve, 5))
  wire.send('LI')
  assert.equal(await readTold(wire), 'POST /upload  2')
  wire.send(inner)
  assert.equal(await readTold(wire), 'GET /hello  0')
  wire.send('ST /keys HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal(await readTold(wire), 400)
})

test('a body that ends with UN leaves the verb behind it open, which is refused', async () => {
  const { reached, options } = createWatchedOperations()
  await using server = await live(options)
  using wire = await secureWire(server.port)
  wire.send(`POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nUN${ask('LIST', '/keys')}`)
  assert.equal(await readTold(wire), 'POST /upload  2')
  assert.equal(await readTold(wire), 400)
  assert.deepEqual(reached, ['POST /upload 2'])
})

const requests = fc.array(fc.constantFrom('LIST', 'GET', 'POST'), { minLength: 1, maxLength: 6 })
const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 })

test('however the bytes are cut into packets, the same requests are served in the same order', async () => {
  const { options } = createWatchedOperations()
  await using server = await live({ ...options, tls: undefined })
  const one = {
    LIST: [ask('LIST', '/keys'), 'LIST /keys  0'],
    GET: [ask('GET', '/hello'), 'GET /hello  0'],
    POST: ['POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nLIS', 'POST /upload  3'],
  } as const
  const serves = async (verbs: readonly (keyof typeof one)[], places: readonly number[]) => {
    const bytes = verbs.map((verb) => one[verb][0]).join('')
    const ends = [...new Set([...places.filter((place) => place < bytes.length), bytes.length])].sort(
      (a, b) => a - b,
    )
    using wire = await plainWire(server.port)
    wire.socket.setNoDelay()
    let begin = 0
    for (const end of ends) {
      wire.send(bytes.slice(begin, end))
      begin = end
      await new Promise((resolve) => setImmediate(resolve))
    }
    // The first two bytes of a LIST may be at the end of a longer read: that alone may be refused.
    const openCut = ends.some((end) => ['L', 'LI'].some((cut) => bytes.slice(0, end).endsWith(`\n${cut}`)))
    for (const verb of verbs) {
      const answer = await readTold(wire)
      if (answer === 400 && openCut) return
      assert.equal(answer, one[verb][1])
    }
  }
  await fc.assert(fc.asyncProperty(requests, cuts, serves), { numRuns: 40 })
  await serves(['LIST', 'LIST', 'GET', 'LIST'], [1, 2, 3, 4, 5])
})

/** Pieces of requests and of nonsense; what they make together is cut by the parser. */
const pieces = fc.array(
  fc.constantFrom(
    ask('LIST', '/keys'),
    ask('GET', '/hello'),
    'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n',
    `POST /upload HTTP/1.1\r\nHost: a\r\n${chunked}\r\n`,
    '4\r\nLIST\r\n0\r\n\r\n',
    'LIST',
    'LIST ',
    'LI',
    'ST /keys HTTP/1.1\r\n',
    '/keys HTTP/1.1\r\n',
    'Host: a\r\n',
    'Content-Length: 4\r\n',
    chunked,
    '\r\n',
    '\n',
    'abcd',
    'L',
    ' ',
  ),
  { minLength: 1, maxLength: 8 },
)

test('whatever the bytes are, they are cut into requests as with a verb that the parser knows', async () => {
  const { options } = createWatchedOperations()
  await using server = await live({ ...options, tls: undefined })
  const statuses = async (bytes: string) => {
    using wire = await plainWire(server.port)
    // No request and no body goes on with this.
    wire.send(`${bytes}\r\n\r\n\0\r\n\r\n`)
    wire.socket.end()
    return (await wire.rest()).match(/(?<=HTTP\/1\.1 )\d{3}/g)
  }
  await fc.assert(
    fc.asyncProperty(pieces, async (some) => {
      const bytes = some.join('')
      const known = (await statuses(bytes.replaceAll('LIST', 'LINK')))?.join() ?? ''
      const listed = (await statuses(bytes))?.join() ?? ''
      // LINK has no operation.
      assert.equal(listed.replaceAll('200', '405'), known.replaceAll('200', '405'), JSON.stringify(bytes))
    }),
    { numRuns: Number(process.env.WARDER_LIST_STREAMS ?? 150) },
  )
})

test('many half LISTs and a packet full of them leave nothing behind', async () => {
  const { reached, options } = createWatchedOperations()
  await using server = await live({ ...options, tls: undefined })
  for (let round = 0; round < 10; round++) {
    const wires = await Promise.all(Array.from({ length: 50 }, () => plainWire(server.port)))
    for (const wire of wires) wire.send('LIS')
    for (const wire of wires) wire.socket.destroy()
  }
  const many = Number(process.env.WARDER_MANY_LISTS ?? 1000)
  using wire = await plainWire(server.port)
  wire.send(ask('LIST', '/keys').repeat(many))
  for (let count = 0; count < many; count++) assert.equal(await readTold(wire), 'LIST /keys  0')
  assert.equal(reached.length, many)
  await idle(server)
})

test('a LIST is counted, recorded and limited as any request is, and is no error of its caller', async () => {
  const audit = testAudit('reject')
  const seen: unknown[] = []
  const metrics: Metrics = {
    operation: (...measured) => void seen.push(measured.slice(0, 2)),
    count: (name) => void seen.push(name),
    gauge() {},
    collected() {},
    exposition: async () => '',
  }
  const clock = { now: () => 1_000_000, monotonic: () => 0 }
  const rateLimiter = createTokenBuckets({ ratePerSecond: 0.5, burst: 2, slots: 16, clock })
  await using server = await live({ ...createWatchedOperations().options, audit, metrics, rateLimiter })
  using wire = await secureWire(server.port)
  const statuses = []
  for (const path of ['/keys', '/hello', '/keys']) {
    wire.send(ask('LIST', path))
    statuses.push((await wire.reply()).status)
  }
  assert.deepEqual(statuses, [200, 405, 429])
  assert.deepEqual(seen, [
    ['keys', 200],
    ['http.unmatched', 405],
    ['keys', 429],
  ])
  assert.deepEqual(
    audit.events.map(({ operation, status }) => [operation, status]),
    seen,
  )
})

test('a page of another origin reads a LIST as little as a GET', async () => {
  await using server = await live(createWatchedOperations().options)
  using wire = await secureWire(server.port)
  for (const verb of ['GET', 'LIST']) {
    wire.send(ask(verb, '/keys', 'Origin: https://evil.example\r\n'))
    const { status, headers } = await wire.reply()
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, undefined], verb)
  }
  wire.send(
    ask('OPTIONS', '/keys', 'Origin: https://evil.example\r\nAccess-Control-Request-Method: LIST\r\n'),
  )
  assert.equal((await wire.reply()).status, 403)
})

test('the refusal of LIST elsewhere says which verbs there are', async () => {
  await using server = await live(createWatchedOperations().options)
  using wire = await secureWire(server.port)
  wire.send(ask('LIST', '/hello'))
  assert.equal((await wire.reply()).headers.allow, 'GET, HEAD')
  wire.send('DELETE /keys HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await wire.reply()).headers.allow, 'GET, HEAD, LIST')
})
