import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { decryptFile, encryptFile } from './encrypt-file.ts'
import { fillFromStream, readPieces } from './read.ts'
import { type WrappedKey, wrappingContext } from './wrapped-key.ts'

const mebibyte = 1024 * 1024

/** Wraps with nothing: the tests are about what becomes of the bytes. */
function keys() {
  let kept = Buffer.alloc(0)
  return {
    async wrap(dataKey: Uint8Array): Promise<WrappedKey> {
      kept = Buffer.from(dataKey)
      const header = Buffer.from(JSON.stringify({ alg: 'dir', kid: 'key-1' })).toString('base64url')
      return {
        protected: header,
        encrypted_key: '',
        iv: 'a',
        ciphertext: 'b',
        tag: 'c',
        aad: wrappingContext,
      }
    },
    unwrap: async () => Buffer.from(kept),
  }
}

async function piped(
  bytes: Uint8Array | Iterable<Uint8Array>,
  cipher: 'encrypt' | 'decrypt',
  service = keys(),
) {
  const out: Buffer[] = []
  const options = {
    input: Readable.from(bytes instanceof Uint8Array ? [bytes] : bytes, { objectMode: false }),
    output: async (part: Uint8Array) => void out.push(Buffer.from(part)),
    overwrite: false,
  }
  if (cipher === 'encrypt') await encryptFile(options, service.wrap)
  else await decryptFile(options, service.unwrap)
  return Buffer.concat(out)
}

test('what is piped in comes out again, however it was cut on its way', async () => {
  for (const length of [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 3 * mebibyte + 5]) {
    const service = keys()
    const plain = randomBytes(length)
    const parts = function* (bytes: Buffer) {
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 70_001)
        yield bytes.subarray(at, at + size)
    }
    const sealed = await piped(parts(plain), 'encrypt', service)
    assert.equal(sealed.length, sealedLength(length, sealed))
    assert.ok((await piped(parts(sealed), 'decrypt', service)).equals(plain), String(length))
  }
})

/** docs/reference/file-format.md: the header, and 16 bytes more for each chunk. */
function sealedLength(length: number, sealed: Buffer): number {
  return 19 + sealed.readUInt32BE(15) + 32 + length + 16 * Math.max(1, Math.ceil(length / mebibyte))
}

test('a pipe that was cut or changed is an error; nothing comes out of the part that is wrong', async () => {
  const service = keys()
  const plain = randomBytes(3 * mebibyte)
  const sealed = await piped(plain, 'encrypt', service)
  const second = sealed.length - 2 * (mebibyte + 16)
  const changed = Buffer.from(sealed)
  changed.writeUInt8(changed.readUInt8(second + 5) ^ 1, second + 5)
  for (const bytes of [
    changed,
    sealed.subarray(0, second + 100),
    sealed.subarray(0, second),
    sealed.subarray(0, 40),
  ]) {
    // Of its own: what had verified is still written when the rest was refused.
    const out: Buffer[] = []
    const output = async (part: Uint8Array) => void out.push(Buffer.from(part))
    const opening = decryptFile({ input: Readable.from([bytes]), output, overwrite: false }, service.unwrap)
    await assert.rejects(opening, { name: 'FileRefused' })
    await turn()
    const came = Buffer.concat(out)
    assert.ok(came.length <= mebibyte && plain.subarray(0, came.length).equals(came))
  }
})

test('a large stream goes through in bounded memory: the input waits for the output', {
  timeout: 120_000,
}, async () => {
  const total = 256
  let made = 0
  let taken = 0
  let furthest = 0
  const part = Buffer.alloc(mebibyte, 5)
  async function* source() {
    for (; made < total; made += 1) {
      furthest = Math.max(furthest, made * mebibyte - taken)
      yield part
    }
  }
  const hash = createHash('sha256')
  await encryptFile(
    {
      input: Readable.from(source(), { objectMode: false, highWaterMark: 64 * 1024 }),
      overwrite: false,
      async output(bytes) {
        // A slow reader at the other end.
        await turn()
        taken += bytes.length
        hash.update(bytes)
      },
    },
    keys().wrap,
  )
  assert.ok(taken > total * mebibyte)
  assert.ok(furthest < 16 * mebibyte, `${furthest} bytes lay between input and output`)
})

test('a reader who is gone, and an input that breaks off, end it', async () => {
  const gone = new Error('EPIPE')
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(mebibyte)
    })(),
    { objectMode: false },
  )
  await assert.rejects(
    encryptFile({ input: endless, output: () => Promise.reject(gone), overwrite: false }, keys().wrap),
    gone,
  )
  assert.ok(endless.destroyed, 'nobody reads on')
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(10)
      throw new Error('the disk is gone')
    })(),
  )
  await assert.rejects(
    encryptFile({ input: broken, output: async () => {}, overwrite: false }, keys().wrap),
    /the disk is gone/,
  )
})

test('an interruption ends the waiting for input', async () => {
  const interruption = new AbortController()
  const silent = new Readable({ read() {} })
  const run = encryptFile(
    { input: silent, output: async () => {}, overwrite: false, signal: interruption.signal },
    keys().wrap,
  )
  await turn()
  interruption.abort()
  await assert.rejects(run, { name: 'AbortError' })
})

test('pieces are whole but for the last, and say which it is', async () => {
  for (const [length, expected] of [
    [0, [[0, true]]],
    [4, [[4, true]]],
    [
      9,
      [
        [4, false],
        [4, false],
        [1, true],
      ],
    ],
  ] as const) {
    const bytes = randomBytes(length)
    const seen: (readonly [number, boolean])[] = []
    const parts: Buffer[] = []
    const input = Readable.from(
      [...bytes].map((byte) => Buffer.of(byte)),
      { objectMode: false },
    )
    for await (const piece of readPieces(fillFromStream(input, undefined), 4)) {
      seen.push([piece.bytes.length, piece.last])
      parts.push(Buffer.from(piece.bytes))
    }
    assert.deepEqual(seen, expected)
    assert.ok(Buffer.concat(parts).equals(bytes))
  }
})
