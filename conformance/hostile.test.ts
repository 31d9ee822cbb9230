import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import {
  decodeNode,
  decodeRequest,
  draftVersion,
  encodeNode,
  frameLength,
  Tag,
  type TtlvNode,
  writeRequest,
} from '@warder/kmip-codec'
import { nodeOfElement } from '@warder/kmip-codec/testing'
import fc from 'fast-check'
import type { Endpoint } from 'warder/testing'
import { Bindings } from './cases/bindings.ts'
import { readCases } from './cases/test-case.ts'
import { startOwnServer, type TestServer } from './server/own-server.ts'

let server: TestServer
let endpoint: Endpoint
before(async () => {
  server = await startOwnServer({ draft: true })
  endpoint = await server.as('stranger')
})
after(() => server[Symbol.asyncDispose]())

/** Requests of all kinds, from the transcripts; placeholders stand for nothing that exists. */
const requests: readonly Buffer[] = readCases(
  fileURLToPath(new URL('./clients/transcripts', import.meta.url)),
).flatMap(({ steps }) => {
  const bindings = new Bindings(0)
  for (let number = 0; number < 3; number++) {
    bindings.bind(`UNIQUE_IDENTIFIER_${number}`, `nothing-${number}`)
    bindings.bind(`DATA_${number}`, '00112233445566778899aabbccddeeff')
  }
  return steps.map(({ request }) =>
    Buffer.from(encodeNode(nodeOfElement(bindings.fill(request, Date.now())), 'ttlv')),
  )
})

/** The same in the words of 3.0. */
const draftRequests: readonly Buffer[] = requests.map((bytes) => {
  const request = decodeRequest(bytes, 'ttlv')
  const items = request.items.map((item) => ({ ...item, uniqueBatchItemId: undefined }))
  return encodeNode(writeRequest({ ...request, items, version: draftVersion }), 'ttlv')
})
const query =
  requests.find((bytes) => bytes.includes(Buffer.from('42005c0500000004000000180', 'hex'))) ?? requests[0]

/** A connection that says how each message was answered. */
class Talk {
  readonly #socket: TLSSocket
  #received = Buffer.alloc(0)
  #wake: () => void = () => undefined
  #closed = false

  constructor({ socket, ca, cert, key }: Endpoint) {
    this.#socket = connect({ ...socket, ca, cert, key, servername: 'localhost' })
    this.#socket.on('error', () => undefined)
    this.#socket.on('data', (part: Buffer) => {
      this.#received = Buffer.concat([this.#received, part])
      this.#wake()
    })
    this.#socket.on('close', () => {
      this.#closed = true
      this.#wake()
    })
  }

  /** The answer, or undefined when the connection was ended instead. */
  async ask(message: Buffer): Promise<TtlvNode | undefined> {
    this.#socket.write(message)
    for (;;) {
      const length = frameLength(this.#received)
      if (length !== undefined && this.#received.length >= length) {
        const answer = decodeNode(this.#received.subarray(0, length), 'ttlv', { draft: true })
        this.#received = this.#received.subarray(length)
        return answer
      }
      if (this.#closed) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.#socket.destroy()
  }
}

interface Change {
  readonly at: number
  readonly bytes: Uint8Array
  readonly cut: number
}

/** A request with bytes changed anywhere behind its first header, cut to a multiple of 8, its outer length made right. */
function changeBytes(bytes: Buffer, changes: readonly Change[]): Buffer {
  let message = Buffer.from(bytes)
  for (const { at, bytes: put, cut } of changes) {
    const place = 8 + (at % (message.length - 8))
    message.set(put.subarray(0, message.length - place), place)
    const length = Math.max(8, message.length - (cut % 64) * 8)
    message = Buffer.from(message.subarray(0, length))
  }
  message.writeUInt32BE(message.length - 8, 4)
  return message
}

/** Bytes that make decoders stumble: huge, negative and odd lengths, unknown tags and types. */
const nasty = fc.constantFrom(
  ...[
    'ffffffff',
    '80000000',
    '00000001',
    '7fffffff',
    '42ffff01',
    '540001',
    '00',
    '0c',
    '0d',
    '0e',
    '4200',
  ].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex'))),
)
const change = fc.record({
  at: fc.nat(2000),
  bytes: fc.oneof(nasty, fc.uint8Array({ minLength: 1, maxLength: 8 })),
  cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(63) }),
})

for (const [name, corpus] of [
  ['a message', requests],
  ['a message of 3.0', draftRequests],
] as const)
  test(`Whatever is inside ${name}, it is answered, and the connection goes on`, async () => {
    assert.ok(query)
    assert.ok(corpus.length > 30)
    const talk = new Talk(endpoint)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...corpus),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (bytes, changes) => {
          const answer = await talk.ask(changeBytes(bytes, changes))
          assert.equal(answer?.tag, Tag.ResponseMessage)
          assert.doesNotMatch(encodeNode(answer, 'xml').toString('utf8'), /internal error/i)
          assert.equal((await talk.ask(query))?.tag, Tag.ResponseMessage)
        },
      ),
      { seed: 5696, numRuns: 400 },
    )
    talk.close()
  })

test('Bytes that lose the framing end their own connection and no other', async () => {
  assert.ok(query)
  const good = new Talk(endpoint)
  const spoiled = fc.uint8Array({ minLength: 8, maxLength: 64 }).filter(([first]) => first !== 0x42)
  await fc.assert(
    fc.asyncProperty(spoiled, async (bytes) => {
      const talk = new Talk(endpoint)
      assert.equal(await talk.ask(Buffer.from(bytes)), undefined)
      talk.close()
      assert.equal((await good.ask(query))?.tag, Tag.ResponseMessage)
    }),
    { seed: 5696, numRuns: 20 },
  )
  good.close()
})
