import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { ask, createWatchedOperations, readTold } from '../fixtures/lists.ts'
import { live } from '../fixtures/live.ts'
import { idle, plainWire, secureWire } from '../fixtures/wire.ts'
import { acceptListVerb } from './list-verb.ts'

test('node’s parser refuses LIST by itself, and knows the verb that stands in for it', async () => {
  await using server = await live({ ...createWatchedOperations().options, listVerb: false })
  assert.match(await server.raw(ask('LIST', '/keys')), /^HTTP\/1\.1 400 /)
  assert.match(await server.raw(ask('LINK', '/keys', 'Connection: close\r\n')), /^HTTP\/1\.1 405 /)
})

test('a server none of whose operations has the verb refuses it', async () => {
  const { options } = createWatchedOperations()
  const operations = options.operations.filter(({ route }) => !route.methods.includes('LIST'))
  await using server = await live({ ...options, operations })
  assert.match(await server.raw(ask('LIST', '/hello')), /^HTTP\/1\.1 400 /)
})

test('where node keeps its parser or its connections elsewhere, LIST is refused', async () => {
  const answers: boolean[] = []
  const server = createServer()
  const verb = acceptListVerb(server)
  server.on('connection', verb.watch)
  server.on('clientError', (error, socket) => {
    answers.push(verb.accept(error, socket as Socket), verb.accept(error, new Socket()))
    socket.destroy()
  })
  // It does not listen, and so has no list of connections yet.
  const [near, far] = duplexPair()
  server.emit('connection', far)
  near.write(ask('LIST', '/keys'))
  await once(far, 'close')
  verb.watch(new Socket())
  assert.deepEqual(answers, [false, false])
})

for (const [name, tls] of [
  ['over TLS', true],
  ['without TLS', false],
] as const) {
  const start = async (options: ReturnType<typeof createWatchedOperations>['options']) => {
    const server = await live({ ...options, ...(!tls && { tls: undefined }) })
    return { server, open: () => (tls ? secureWire : plainWire)(server.port) }
  }

  test(`LIST is a verb as any other on a kept connection, ${name}`, async () => {
    const { reached, options } = createWatchedOperations()
    const { server, open } = await start(options)
    await using _ = server
    using wire = await open()
    for (const [verb, path, expected] of [
      ['LIST', '/keys', 'LIST /keys  0'],
      ['LIST', '/keys?list=true&a=b', 'LIST /keys list=true&a=b 0'],
      ['GET', '/keys', 'GET /keys  0'],
      ['LIST', '/hello', 405],
      ['LIST', '/nowhere', 404],
      ['LINK', '/keys', 405],
      ['GET', '/hello', 'GET /hello  0'],
      ['LIST', `${tls ? 'https' : 'http'}://b/keys`, 'LIST /keys  0'],
      ['LIST', '/upload', 405],
      ['LIST', '/keys', 'LIST /keys  0'],
    ] as const) {
      wire.send(ask(verb, path))
      assert.equal(await readTold(wire), expected, `${verb} ${path}`)
    }
    assert.equal(reached.length, 6)
    wire.send(ask('LIST', '/keys', 'Connection: close\r\n') + ask('LIST', '/keys'))
    assert.equal(await readTold(wire), 'LIST /keys  0')
    assert.equal(await wire.rest(), '')
    await idle(server)
  })

  test(`requests of one packet are answered in their order, ${name}`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { options } = createWatchedOperations(promise)
    const { server, open } = await start(options)
    await using _ = server
    using wire = await open()
    const body = 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nLIST'
    wire.send(
      ask('LIST', '/keys') + ask('GET', '/slow') + ask('LIST', '/keys') + ask('LIST', '/hello') + body,
    )
    wire.send(`\r\n${ask('LIST', '/keys')}`)
    assert.equal(await readTold(wire), 'LIST /keys  0')
    resolve()
    assert.equal(await readTold(wire), 'GET /slow  0')
    assert.equal(await readTold(wire), 'LIST /keys  0')
    assert.equal(await readTold(wire), 405)
    assert.equal(await readTold(wire), 'POST /upload  4')
    assert.equal(await readTold(wire), 'LIST /keys  0')
    await idle(server)
  })

  test(`a head that comes byte by byte is read, ${name}`, async () => {
    const { options } = createWatchedOperations()
    const { server, open } = await start(options)
    await using _ = server
    using wire = await open()
    wire.socket.setNoDelay()
    for (const [verb, path, expected] of [
      ['LIST', '/keys', 'LIST /keys  0'],
      ['GET', '/hello', 'GET /hello  0'],
      ['LIST', '/keys', 'LIST /keys  0'],
    ] as const) {
      for (const byte of ask(verb, path)) {
        wire.send(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.equal(await readTold(wire), expected)
    }
    // A reply that waits for its turn makes node read through the stream.
    wire.send(ask('GET', '/slow') + ask('GET', '/hello'))
    assert.deepEqual([await readTold(wire), await readTold(wire)], ['GET /slow  0', 'GET /hello  0'])
    for (const byte of ask('LIST', '/keys')) {
      wire.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(await readTold(wire), 'LIST /keys  0')
    wire.send('LIS')
    await new Promise((resolve) => setTimeout(resolve, 5))
    wire.send(`T /keys HTTP/1.1\r\nHost: a\r\n\r\n${ask('LIST', '/keys')}`)
    assert.deepEqual([await readTold(wire), await readTold(wire)], ['LIST /keys  0', 'LIST /keys  0'])
  })
}
