import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { newUser, type RunOptions, startCommandFixture } from '../testing/in-process.ts'
import { cleanEnvironment } from '../testing/installation.ts'
import { program } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-rewrap-'))

const { warder, admin, run, ok } = await startCommandFixture()
const bob = await newUser(warder, 'bob')
after(() => rmSync(folder, { recursive: true, force: true }))

const newKey = async (alg: string): Promise<string> =>
  JSON.parse((await ok(['keys', 'create', '--alg', alg, '--json'])).out).kid
const rotate = (key: string) => ok(['keys', 'rotate', key])

/** Older versions open nothing any more. */
async function onlyFrom(key: string, version: number): Promise<void> {
  const kms = warder.client('kms')
  const answer = await kms.ask(`/v1/crypto/keys/${key}/rotation`, {
    method: 'PUT',
    json: { min_decrypt_version: version },
    headers: { authorization: `Bearer ${admin}` },
  })
  kms.close()
  assert.equal(answer.status, 200, answer.text)
}

let counter = 0
async function sealed(bytes: Uint8Array | string, key: string): Promise<string> {
  const path = join(folder, `file-${counter++}`)
  writeFileSync(path, bytes)
  await ok(['crypto', 'encrypt', path, '--key', key])
  rmSync(path)
  return `${path}.warder`
}

const opened = async (path: string, options: RunOptions = {}): Promise<Buffer> =>
  (await ok(['crypto', 'decrypt', path, '--output', '-'], options)).bytes

function wrappedIn(path: string): Buffer {
  const file = readFileSync(path)
  return file.subarray(19, 19 + file.readUInt32BE(15))
}

/** The key that the header of a file names. */
const named = (path: string): string =>
  JSON.parse(Buffer.from(JSON.parse(wrappedIn(path).toString()).protected, 'base64url').toString()).kid

/** The file in format 1, written from docs/reference/file-format.md. */
async function inFormat1(path: string, plain: Buffer): Promise<void> {
  const wrapped = wrappedIn(path)
  const words = ['crypto', 'decrypt-data', '--aad', 'warder file v1']
  const dataKey = (await ok(words, { input: wrapped })).bytes
  const derive = (info: string) => Buffer.from(hkdfSync('sha256', dataKey, '', `warder file v1 ${info}`, 32))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(wrapped.length)
  const prefix = randomBytes(7)
  const head = Buffer.concat([Buffer.from('WARDERF\x01', 'latin1'), prefix, length, wrapped])
  const mac = createHmac('sha256', derive('header')).update(head).digest()
  const nonce = Buffer.concat([prefix, Buffer.from([0, 0, 0, 0, 1])])
  const cipher = createCipheriv('aes-256-gcm', derive('chunks'), nonce).setAAD(mac)
  const chunk = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  writeFileSync(path, Buffer.concat([head, mac, chunk]))
}

test('a file of a symmetric key gets a new header in its place, and opens when the old version is gone', async () => {
  const key = await newKey('A256GCM')
  const plain = randomBytes(1024 * 1024 + 5)
  const path = await sealed(plain, key)
  chmodSync(path, 0o640)
  const before = readFileSync(path)
  const { ino } = statSync(path)
  await rotate(key)
  await rotate(key)
  const tried = await ok(['crypto', 'rewrap', '--dry-run', path])
  assert.equal(tried.out, `${path}  would be rewrapped, version 1 to 3 of key ${key}`)
  assert.ok(readFileSync(path).equals(before))
  const done = await ok(['crypto', 'rewrap', path, path])
  assert.equal(done.out, `${path}  rewrapped, version 1 to 3 of key ${key}`)
  const now = readFileSync(path)
  assert.deepEqual([now.length, statSync(path).ino, statSync(path).mode & 0o777], [before.length, ino, 0o640])
  const chunks = 19 + before.readUInt32BE(15)
  assert.ok(now.subarray(chunks).equals(before.subarray(chunks)))
  const again = await ok(['crypto', 'rewrap', path, '--json'])
  assert.deepEqual(JSON.parse(again.out), {
    files: [{ file: path, status: 'current', key, version: 3, newest_version: 3 }],
  })
  assert.ok(readFileSync(path).equals(now))
  await onlyFrom(key, 3)
  assert.ok((await opened(path)).equals(plain))
})

test('a file of format 1 becomes one of format 3, and stays one', async () => {
  const key = await newKey('A256GCM')
  const plain = Buffer.from('written long ago')
  const path = await sealed(plain, key)
  await inFormat1(path, plain)
  assert.ok((await opened(path)).equals(plain))
  const mac = readFileSync(path).subarray(-48)
  for (const version of [2, 3]) {
    await rotate(key)
    assert.match(
      (await ok(['crypto', 'rewrap', path])).out,
      new RegExp(`rewrapped, version (1|2) to ${version} `),
    )
    const file = readFileSync(path)
    assert.equal(file[7], 3)
    assert.ok(file.subarray(-48).equals(mac))
    assert.ok((await opened(path)).equals(plain))
  }
})

test('whoever may encrypt rewraps and cannot read; whoever may do nothing is told so', async () => {
  const key = await newKey('RSA-OAEP-256')
  const path = await sealed('for the boss', key)
  chmodSync(path, 0o640)
  const first = named(path)
  await rotate(key)
  const { ino } = statSync(path)
  const refused = await run(['crypto', 'rewrap', path], { token: bob })
  assert.equal(refused.code, 1)
  assert.match(refused.err, new RegExp(`^${path}: key ${first}: Key not found\\.`))
  await ok(['access', 'grant', key, 'bob', 'encrypt'])
  const done = await ok(['crypto', 'rewrap', path], { token: bob })
  assert.equal(done.out, `${path}  rewrapped, key ${first}`)
  assert.notEqual(named(path), first)
  assert.notEqual(statSync(path).ino, ino, 'a header of more than a sector is written anew')
  assert.equal(statSync(path).mode & 0o777, 0o640)
  assert.equal((await run(['crypto', 'decrypt', path, '--output', '-'], { token: bob })).code, 1)
  const again = await ok(['crypto', 'rewrap', path], { token: bob })
  assert.equal(again.out, `${path}  already under the newest version of key ${named(path)}`)
  assert.equal((await opened(path)).toString(), 'for the boss')
})

test('what is wrong with a file is told, the others are rewrapped, and the exit code is 1', async () => {
  const key = await newKey('A256GCM')
  const lost = await newKey('A256GCM')
  const good = [await sealed('one', key), await sealed('two', key)] as const
  const orphan = await sealed('three', lost)
  await rotate(key)
  await ok(['keys', 'destroy', lost, '--yes'])
  const link = join(folder, 'link')
  symlinkSync(good[0], link)
  const text = join(folder, 'text')
  writeFileSync(text, 'text')
  const changed = await sealed('four', key)
  const bytes = readFileSync(changed)
  bytes.write(bytes.toString('latin1', 60, 61) === 'A' ? 'B' : 'A', bytes.indexOf('"tag"') + 8, 'latin1')
  // Of the newest version it would be skipped.
  const stale = await sealed('five', key)
  await rotate(key)
  writeFileSync(changed, bytes)
  const none = join(folder, 'none')
  const files = [good[0], orphan, link, text, changed, none, folder, good[1], stale]
  const ran = await run(['crypto', 'rewrap', ...files, '--json'])
  assert.equal(ran.code, 1)
  const told = ran.err.split('\n')
  for (const [path, line] of [
    [link, /is a symbolic link: name the file itself/],
    [text, /this is not a file of warder crypto encrypt/],
    [none, /no such file or directory/],
    [folder, /is not a file|directory/],
    [orphan, /Key not found\. The key does not exist, was destroyed/],
    [changed, /decryption_failed/],
  ] as const) {
    const found = told.filter((one) => one.startsWith(`${path}: `) || one.startsWith(`${path} is `))
    assert.equal(found.length, 1, path)
    assert.match(found[0] ?? '', line)
  }
  assert.equal(told.length, 6)
  const statuses: { file: string; status: string }[] = JSON.parse(ran.out).files
  const done = statuses.filter(({ status }) => status === 'rewrapped').map(({ file }) => file)
  assert.deepEqual(done.toSorted(), [...good, stale].toSorted())
  assert.equal(statuses.length, files.length)
  assert.equal((await opened(good[1])).toString(), 'two')
  for (const words of [[], [''], ['-']]) assert.equal((await run(['crypto', 'rewrap', ...words])).code, 2)
})

test('a file for a policy is refused', async () => {
  const structure = join(folder, 'structure.json')
  writeFileSync(structure, '{"Team":["blue","red"]}')
  const made = JSON.parse((await ok(['keys', 'abe', 'create', structure, '--json'])).out)
  const path = join(folder, 'policy')
  writeFileSync(path, 'text')
  await ok(['crypto', 'encrypt', path, '--key', made.kid_public, '--policy', 'Team::blue'])
  const ran = await run(['crypto', 'rewrap', `${path}.warder`])
  assert.deepEqual([ran.code, ran.out], [1, ''])
  assert.match(ran.err, /policy\.warder: it is encrypted for a policy: use warder keys abe rekey/)
})

test('a kill in the middle leaves every file with the one header or the other, and it opens', {
  skip: process.platform === 'win32',
}, async () => {
  const [aes, rsa] = [await newKey('A256GCM'), await newKey('RSA-OAEP-256')]
  const model = await sealed('small', aes)
  // Enough for two requests, so that the kill comes between two files.
  const small = Array.from({ length: 150 }, (_, index) => `${model}.${index}`)
  for (const path of small) writeFileSync(path, readFileSync(model))
  const large = await sealed('large', rsa)
  truncateSync(large, 8 * 1024 ** 3) // no bytes on disk
  await rotate(aes)
  await rotate(rsa)
  const was = [named(model), head(large)] as const
  const child = spawn(
    process.execPath,
    [program, 'crypto', 'rewrap', ...small.slice(0, 120), large, ...small.slice(120), '--home', warder.home],
    { env: cleanEnvironment({ WARDER_TOKEN: admin }), stdio: 'ignore' },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  const partials = () => readdirSync(folder).filter((name) => name.endsWith('.partial'))
  await until('a copy begins', () => partials().length > 0)
  child.kill('SIGKILL')
  await ended
  const [left = ''] = partials()
  rmSync(join(folder, left))
  assert.ok(head(large).equals(was[1]), 'the copy did not take the name')
  const renewed = small.filter((path) => named(path) !== was[0])
  assert.equal(renewed.length, 120)
  for (const path of [small[0], small[119], small[120]])
    assert.equal((await opened(path ?? '')).toString(), 'small')
  truncateSync(large, head(large).length + 5 + 16)
  await ok(['crypto', 'rewrap', ...small, large])
  for (const path of [small[0], small[149]]) assert.equal((await opened(path ?? '')).toString(), 'small')
  assert.ok((await opened(large)).equals(Buffer.from('large')))
})

/** The header of a file, however large that is. */
function head(path: string): Buffer {
  const start = Buffer.alloc(17 * 1024)
  const file = openSync(path, 'r')
  readSync(file, start, 0, start.length, 0)
  return start.subarray(0, 51 + start.readUInt32BE(15))
}
