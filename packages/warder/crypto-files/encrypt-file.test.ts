import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { FileRefused } from '@warder/command-line/files'
import fc from 'fast-check'
import { decryptFile, encryptFile } from './encrypt-file.ts'
import { type WrappedKey, wrappingContext } from './wrapped-key.ts'

const mebibyte = 1024 * 1024
const sealedChunk = mebibyte + 16
const folder = mkdtempSync(join(tmpdir(), 'warder-files-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Stands for the key management service: it hands out the key that it was given, for exactly the JWE that it made. */
function keyService() {
  const keys = new Map<string, Buffer>()
  const base64url = (value: string) => Buffer.from(value).toString('base64url')
  return {
    async wrap(dataKey: Uint8Array): Promise<WrappedKey> {
      const wrapped = {
        protected: base64url(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: 'key-1' })),
        encrypted_key: '',
        iv: randomBytes(12).toString('base64url'),
        ciphertext: randomBytes(32).toString('base64url'),
        tag: randomBytes(16).toString('base64url'),
        aad: wrappingContext,
      }
      keys.set(JSON.stringify(wrapped), Buffer.from(dataKey))
      return wrapped
    },
    async unwrap(wrapped: WrappedKey): Promise<Uint8Array> {
      const key = keys.get(JSON.stringify(wrapped))
      if (key === undefined) throw new FileRefused('the key service does not open it')
      return Buffer.from(key)
    },
  }
}

const service = keyService()
let counter = 0
const fresh = (): string => join(folder, `file-${counter++}`)

async function encrypted(plain: Uint8Array): Promise<Buffer> {
  const input = fresh()
  const output = fresh()
  writeFileSync(input, plain)
  await encryptFile({ input, output, overwrite: false }, service.wrap)
  const sealed = readFileSync(output)
  rmSync(input)
  rmSync(output)
  return sealed
}

/** Decrypts; after a refusal, checks that nothing was written at all. */
async function decrypted(sealed: Uint8Array, unwrap = service.unwrap): Promise<Buffer> {
  const input = fresh()
  const output = fresh()
  writeFileSync(input, sealed)
  try {
    await decryptFile({ input, output, overwrite: false }, unwrap)
    return readFileSync(output)
  } catch (error) {
    const left = readdirSync(folder).filter((name) => name.includes(output.slice(folder.length + 1)))
    assert.deepEqual(left, [], 'something was left behind')
    throw error
  } finally {
    rmSync(input)
    rmSync(output, { force: true })
  }
}

const refused = (sealed: Uint8Array) => assert.rejects(decrypted(sealed), FileRefused)

let plain: Buffer
let sealed: Buffer
/** Offset of the first chunk. */
let start: number
before(async () => {
  plain = randomBytes(2 * mebibyte + 4321)
  sealed = await encrypted(plain)
  start = sealed.length - plain.length - 3 * 16
})

test('files of every interesting length come back as they were', async () => {
  for (const length of [0, 1, 15, 16, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte, 3 * mebibyte + 7]) {
    const before = randomBytes(length)
    const after = await encrypted(before)
    const chunks = Math.max(1, Math.ceil(length / mebibyte))
    assert.ok(after.length > length + chunks * 16)
    assert.ok((await decrypted(after)).equals(before), `${length} bytes`)
  }
})

test('two encryptions of one file have nothing in common', async () => {
  const other = await encrypted(plain)
  assert.ok(!other.subarray(-64).equals(sealed.subarray(-64)))
  assert.ok(!other.subarray(8, 15).equals(sealed.subarray(8, 15)), 'the nonces begin differently')
  assert.ok(!sealed.includes(plain.subarray(0, 32)))
})

test('one changed bit, wherever it is, and nothing comes out', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(sealed.length - 1), fc.nat(7), async (at, bit) => {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at)
      await refused(changed)
    }),
    { numRuns: 40 },
  )
})

test('one changed bit anywhere in the header, and nothing comes out', async () => {
  const small = await encrypted(Buffer.from('small'))
  for (let at = 0; at < small.length; at += 1) {
    const changed = Buffer.from(small)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
    await assert.rejects(decrypted(changed), FileRefused, `byte ${at}`)
  }
})

test('a file cut anywhere is refused, also between chunks and within the header', async () => {
  const ends = [
    0,
    1,
    7,
    8,
    20,
    start - 1,
    start,
    start + 1,
    start + 16,
    start + sealedChunk,
    sealed.length - 1,
  ]
  ends.push(start + 2 * sealedChunk, sealed.length - 16)
  for (const end of ends) await refused(sealed.subarray(0, end))
  await fc.assert(
    fc.asyncProperty(fc.nat(sealed.length - 1), (end) => refused(sealed.subarray(0, end))),
    { numRuns: 20 },
  )
})

test('chunks that were swapped, repeated, dropped or taken from another file are refused', async () => {
  const header = sealed.subarray(0, start)
  const chunk = (index: number) =>
    sealed.subarray(start + index * sealedChunk, start + (index + 1) * sealedChunk)
  const [first, second, third] = [chunk(0), chunk(1), chunk(2)]
  const other = await encrypted(plain)
  const foreign = other.subarray(other.length - sealed.length + start)
  for (const chunks of [
    [second, first, third],
    [first, first, second, third],
    [first, second, second, third],
    [second, third],
    [first, third],
    [third],
    [first, second],
    [first, second, third, third],
    [first, second, third, Buffer.alloc(16)],
    [first, second, third, Buffer.from([0])],
    [foreign],
    [first, foreign.subarray(sealedChunk)],
    [],
  ]) {
    await refused(Buffer.concat([header, ...chunks]))
  }
  assert.ok((await decrypted(Buffer.concat([header, first, second, third]))).equals(plain))
})

test('appended data is refused, also after a file that ends with a full chunk, and after an empty one', async () => {
  for (const length of [0, mebibyte]) {
    const whole = await encrypted(randomBytes(length))
    for (const more of [1, 16, sealedChunk]) await refused(Buffer.concat([whole, Buffer.alloc(more)]))
  }
})

test('the header of another file is refused, though its key can be opened', async () => {
  const other = await encrypted(plain)
  const otherStart = other.length - sealed.length + start
  await refused(Buffer.concat([other.subarray(0, otherStart), sealed.subarray(start)]))
})

test('a wrong data key, or one of another length, opens nothing', async () => {
  for (const length of [32, 16, 0, 33]) {
    await assert.rejects(
      decrypted(sealed, async () => randomBytes(length)),
      FileRefused,
    )
  }
})

test('what is no such file is refused before the key service is asked', async () => {
  let asked = 0
  const unwrap = async () => {
    asked += 1
    return randomBytes(32)
  }
  const withKey = (json: string, claimed = Buffer.byteLength(json)): Buffer => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(claimed)
    return Buffer.concat([
      Buffer.from('WARDERF\x01prefix!', 'latin1'),
      length,
      Buffer.from(json),
      Buffer.alloc(64),
    ])
  }
  const members = {
    protected: 'e30',
    encrypted_key: '',
    iv: 'a',
    ciphertext: 'a',
    tag: 'a',
    aad: wrappingContext,
  }
  for (const bytes of [
    Buffer.alloc(0),
    randomBytes(500),
    Buffer.from('WARDERF\x04prefix!', 'latin1'),
    withKey('{}'),
    withKey('null'),
    withKey('not json'),
    withKey('{}', 0xffffffff),
    withKey('{}', 16 * 1024),
    withKey(JSON.stringify({ ...members, aad: 'b3RoZXI' })),
    withKey(JSON.stringify({ ...members, more: 'a' })),
    withKey(JSON.stringify({ ...members, iv: 7 })),
    withKey(JSON.stringify({ ...members, tag: 'a b' })),
    withKey(JSON.stringify(members)),
  ]) {
    await assert.rejects(decrypted(bytes, unwrap), FileRefused)
  }
  assert.equal(asked, 0)
})

test('only the named key may have encrypted it, when one is named', async () => {
  const input = fresh()
  writeFileSync(input, sealed)
  const options = { input, output: fresh(), overwrite: false }
  await assert.rejects(decryptFile({ ...options, kid: 'key-2' }, service.unwrap), /another key/)
  assert.equal((await decryptFile({ ...options, kid: 'key-1' }, service.unwrap)).kid, 'key-1')
})

test('the output is its owner’s alone, and never replaces a file unless told to', async () => {
  const input = fresh()
  const output = fresh()
  writeFileSync(input, 'text')
  chmodSync(input, 0o644)
  await encryptFile({ input, output, overwrite: false }, service.wrap)
  assert.equal(statSync(output).mode & 0o777, 0o600)
  await assert.rejects(encryptFile({ input, output, overwrite: false }, service.wrap), /already exists/)
  const before = readFileSync(output)
  await encryptFile({ input, output, overwrite: true }, service.wrap)
  assert.ok(!readFileSync(output).equals(before))
  await decryptFile({ input: output, output: input, overwrite: true }, service.unwrap)
  assert.equal(readFileSync(input, 'utf8'), 'text')
  assert.equal(statSync(input).mode & 0o777, 0o600)
})

test('a name that is taken while the file is written is not replaced, also when it is a dangling link', async () => {
  const input = fresh()
  const output = fresh()
  writeFileSync(input, 'text')
  await assert.rejects(
    encryptFile(
      { input, output, overwrite: false, onProgress: () => writeFileSync(output, 'mine') },
      service.wrap,
    ),
    /already exists/,
  )
  assert.equal(readFileSync(output, 'utf8'), 'mine')
  const dangling = fresh()
  symlinkSync(fresh(), dangling)
  await assert.rejects(encryptFile({ input, output: dangling, overwrite: false }, service.wrap), /already/)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.partial')),
    [],
  )
})

test('stopped in the middle, it leaves nothing', async () => {
  const input = fresh()
  const output = fresh()
  writeFileSync(input, plain)
  const stop = new AbortController()
  await assert.rejects(
    encryptFile(
      { input, output, overwrite: false, signal: stop.signal, onProgress: () => stop.abort() },
      service.wrap,
    ),
    { name: 'AbortError' },
  )
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes(output.slice(folder.length + 1))),
    [],
  )
})

test('progress ends at the size of the input', async () => {
  const input = fresh()
  writeFileSync(input, plain)
  const seen: number[] = []
  const output = fresh()
  await encryptFile(
    { input, output, overwrite: false, onProgress: (done, size) => seen.push(done / size) },
    service.wrap,
  )
  await decryptFile(
    { input: output, output: fresh(), overwrite: false, onProgress: (done, size) => seen.push(done / size) },
    service.unwrap,
  )
  assert.equal(seen.length, 6)
  assert.deepEqual([seen[2], seen[5]], [1, 1])
})

test('a folder is not a file, and a missing one is named', async () => {
  const options = { output: fresh(), overwrite: false }
  await assert.rejects(encryptFile({ ...options, input: folder }, service.wrap), /is not a file|EISDIR/)
  await assert.rejects(encryptFile({ ...options, input: join(folder, 'none') }, service.wrap), /ENOENT/)
})

test('memory stays flat for a large file', async () => {
  const input = fresh()
  writeFileSync(input, '')
  truncateSync(input, 192 * mebibyte) // no bytes on disk: the file system gives zeros
  const output = fresh()
  let most = 0
  const onProgress = (): void => {
    most = Math.max(most, process.memoryUsage().arrayBuffers)
  }
  const before = process.memoryUsage().arrayBuffers
  const { bytes } = await encryptFile({ input, output, overwrite: false, onProgress }, service.wrap)
  assert.equal(bytes, 192 * mebibyte)
  assert.ok(most - before < 96 * mebibyte, `${most - before} bytes of buffers`)
  rmSync(output)
})
