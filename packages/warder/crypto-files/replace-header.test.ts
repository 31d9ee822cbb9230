import assert from 'node:assert/strict'
import {
  chmodSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { FileRefused } from '@warder/command-line/files'
import { decryptFile, encryptFile } from './encrypt-file.ts'
import { type Header, readHeader, replaceWrappedKey } from './header.ts'
import { openFile } from './open-file.ts'
import { fillFrom } from './read.ts'
import { replaceHeader } from './replace-header.ts'
import { type WrappedKey, wrappingContext } from './wrapped-key.ts'

const mebibyte = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'warder-header-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function wrapping(kid: string, encryptedKeyBytes = 0): WrappedKey {
  return {
    protected: Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid })).toString('base64url'),
    encrypted_key: Buffer.alloc(encryptedKeyBytes).toString('base64url'),
    iv: '',
    ciphertext: '',
    tag: '',
    aad: wrappingContext,
  }
}

let counter = 0
/** An encrypted file, and how it is opened again. */
async function sealed(wrapped: WrappedKey, plain: Buffer) {
  const input = join(folder, `plain-${counter}`)
  const path = join(folder, `file-${counter++}`)
  writeFileSync(input, plain)
  let dataKey = Buffer.alloc(0)
  await encryptFile({ input, output: path, overwrite: false }, async (key) => {
    dataKey = Buffer.from(key)
    return wrapped
  })
  const opens = async (kid: string): Promise<void> => {
    const output = `${path}.opened`
    const unwrap = async () => Buffer.from(dataKey)
    assert.equal((await decryptFile({ input: path, output, overwrite: true }, unwrap)).kid, kid)
    assert.ok(readFileSync(output).equals(plain))
  }
  return { path, opens, header: await headerOf(path) }
}

async function headerOf(path: string): Promise<Header> {
  await using file = await openFile(path)
  return await readHeader(fillFrom(file))
}

const partials = () => readdirSync(folder).filter((name) => name.endsWith('.partial'))

test('a header of the same length in the first sector is written over the old one', async () => {
  const plain = Buffer.alloc(mebibyte + 3, 7)
  const { path, opens, header } = await sealed(wrapping('a'), plain)
  chmodSync(path, 0o640)
  const before = statSync(path)
  assert.equal(await replaceHeader(path, header, replaceWrappedKey(header, wrapping('b'))), 'in place')
  const now = statSync(path)
  assert.deepEqual([now.ino, now.size, now.mode], [before.ino, before.size, before.mode])
  await opens('b')
})

test('any other file is written anew, and keeps its mode and its owner', async () => {
  const plain = Buffer.alloc(2 * mebibyte + 3, 7)
  for (const [was, is] of [
    [wrapping('a', 256), wrapping('b', 256)],
    [wrapping('a'), wrapping('longer')],
    [wrapping('longer'), wrapping('a')],
  ] as const) {
    const { path, opens, header } = await sealed(was, plain)
    chmodSync(path, 0o640)
    const before = statSync(path)
    const seen: number[] = []
    const options = { onProgress: (done: number) => void seen.push(done) }
    assert.equal(await replaceHeader(path, header, replaceWrappedKey(header, is), options), 'copied')
    const now = statSync(path)
    assert.notEqual(now.ino, before.ino)
    assert.deepEqual([now.mode, now.uid, now.gid], [before.mode, before.uid, before.gid])
    assert.equal(seen.at(-1), now.size)
    await opens(kidIn(is))
  }
  assert.deepEqual(partials(), [])
})

function kidIn({ protected: text }: WrappedKey): string {
  return JSON.parse(Buffer.from(text, 'base64url').toString()).kid
}

test('a copy that is interrupted leaves the file as it was, and nothing beside it', async () => {
  const { path, opens, header } = await sealed(wrapping('a', 256), Buffer.alloc(3 * mebibyte))
  const stop = new AbortController()
  const options = { signal: stop.signal, onProgress: () => stop.abort() }
  const next = replaceWrappedKey(header, wrapping('b', 256))
  await assert.rejects(replaceHeader(path, header, next, options), { name: 'AbortError' })
  await opens('a')
  assert.deepEqual(partials(), [])
})

test('what changed meanwhile, a link and a file with other names are refused, and stay as they are', async () => {
  const { path, opens, header } = await sealed(wrapping('a', 256), Buffer.from('text'))
  const next = replaceWrappedKey(header, wrapping('b', 256))
  const refused = (name: string, before: Header, told: RegExp) =>
    assert.rejects(
      replaceHeader(name, before, next),
      (error: Error) => error instanceof FileRefused && told.test(error.message),
    )
  await refused(path, next, /changed meanwhile/)
  symlinkSync(path, `${path}.link`)
  await refused(`${path}.link`, header, /is a symbolic link: name the file itself/)
  await assert.rejects(replaceHeader(folder, header, next), /EISDIR|is not a file/)
  linkSync(path, `${path}.second`)
  await refused(path, header, /has 2 hard links/)
  await opens('a')
  assert.deepEqual(partials(), [])
})
