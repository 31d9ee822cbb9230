import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { flattenedVerify, importJWK } from 'jose'
import { newUser, startCommandFixture } from '../testing/in-process.ts'
import { cleanEnvironment, runWarder } from '../testing/installation.ts'
import { program } from '../testing/program.ts'

const mebibyte = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'warder-crypto-'))

const { warder, admin, run, ok, fails } = await startCommandFixture()
const bob = await newUser(warder, 'bob')
after(() => rmSync(folder, { recursive: true, force: true }))

/** Fails, says what `told` matches in one line, and shows nothing on standard output. */

async function newPair(alg: string) {
  const { out } = await ok(['keys', 'create', '--alg', alg, '--json'])
  return JSON.parse(out) as { kid: string; kid_public: string }
}
const newKey = async (alg: string) => (await newPair(alg)).kid
const aes = await newKey('A256GCM')

let counter = 0
function file(bytes: Uint8Array | string): string {
  const path = join(folder, `file-${counter++}`)
  writeFileSync(path, bytes)
  return path
}

/** Names in the folder that begin with the file's name, hidden ones too: what a run left behind. */
const leftOf = (path: string) =>
  readdirSync(folder).filter((name) => name.includes(path.slice(folder.length + 1)))

/** Encrypts with the command. @returns the path of the encrypted file */
async function sealed(bytes: Uint8Array | string, key = aes): Promise<string> {
  const path = file(bytes)
  await ok(['crypto', 'encrypt', path, '--key', key])
  rmSync(path)
  return `${path}.warder`
}

test('files are encrypted and come back as they were, with every kind of key', async () => {
  const bytes = randomBytes(mebibyte + 17)
  const rsa = await newPair('RSA-OAEP-256')
  for (const key of [aes, await newKey('A128GCM'), await newKey('A192GCM'), rsa.kid, rsa.kid_public]) {
    const path = await sealed(bytes, key)
    const { out } = await ok(['crypto', 'decrypt', path, '--key', key, '--json'])
    assert.deepEqual(JSON.parse(out), {
      input: path,
      output: path.slice(0, -7),
      bytes: bytes.length,
      key: key === rsa.kid_public ? rsa.kid : key,
    })
    assert.ok(readFileSync(path.slice(0, -7)).equals(bytes))
  }
})

test('it works as a process of its own, that logs in, draws no bar and logs out', async () => {
  const path = file('as a user types it')
  const encrypted = await runWarder(['crypto', 'encrypt', path, '--key', aes, '--home', warder.home])
  assert.deepEqual([encrypted.code, encrypted.err], [0, ''])
  assert.equal(encrypted.out, `${path}.warder  written, 18 bytes encrypted with key ${aes}\n`)
  const words = ['crypto', 'decrypt', `${path}.warder`, '--output', `${path}.txt`, '--home', warder.home]
  assert.equal((await runWarder(words)).code, 0)
  assert.equal(readFileSync(`${path}.txt`, 'utf8'), 'as a user types it')
  const sessions = await runWarder(['admin', 'sessions', '--realm', '_', '--json', '--home', warder.home])
  const users = (JSON.parse(sessions.out) as { subject: string }[]).map(({ subject }) => subject)
  assert.ok(users.length <= 3, `sessions are left: ${sessions.out}`)
})

test('a file that was cut, or whose pieces were moved, is refused with one line and leaves nothing', async () => {
  const path = await sealed(randomBytes(2 * mebibyte + 99))
  const good = readFileSync(path)
  const start = good.length - 2 * mebibyte - 99 - 3 * 16
  const piece = mebibyte + 16
  const [first, second] = [
    good.subarray(start, start + piece),
    good.subarray(start + piece, start + 2 * piece),
  ]
  const flipped = Buffer.from(good)
  flipped.writeUInt8(flipped.readUInt8(start + 5) ^ 1, start + 5)
  const bad: Record<string, Buffer> = {
    'cut in the last piece': good.subarray(0, -1),
    'cut between pieces': good.subarray(0, start + 2 * piece),
    'cut in the header': good.subarray(0, 40),
    empty: Buffer.alloc(0),
    reordered: Buffer.concat([good.subarray(0, start), second, first, good.subarray(start + 2 * piece)]),
    repeated: Buffer.concat([good.subarray(0, start), first, good.subarray(start)]),
    'added to': Buffer.concat([good, Buffer.from('more')]),
    'one bit changed': flipped,
    'something else': randomBytes(5000),
  }
  for (const [what, bytes] of Object.entries(bad)) {
    const changed = `${file('')}.warder`
    writeFileSync(changed, bytes)
    const output = changed.slice(0, -7)
    rmSync(output)
    const ran = await run(['crypto', 'decrypt', changed])
    assert.deepEqual([ran.code, ran.out], [1, ''], `${what}: ${ran.err}`)
    assert.match(ran.err, /changed|truncated|not a file of|invalid/, what)
    assert.deepEqual(leftOf(output), [changed.slice(folder.length + 1)], what)
  }
})

test('the header of another file, or its key, does not make a file out of two', async () => {
  const [one, two] = [await sealed('first file'), await sealed('other file')]
  const [first, other] = [readFileSync(one), readFileSync(two)]
  const mixed = `${file('')}.warder`
  writeFileSync(mixed, Buffer.concat([first.subarray(0, -26), other.subarray(-26)]))
  await fails(['crypto', 'decrypt', mixed, '--force'], /changed, truncated or extended/)
})

test('--key accepts one key alone, by either half of a pair', async () => {
  const other = await newKey('A256GCM')
  const path = await sealed('text', other)
  const output = path.slice(0, -7)
  await fails(['crypto', 'decrypt', path, '--key', aes], new RegExp(`another key, ${other}`))
  assert.ok(!existsSync(output))
  await ok(['crypto', 'decrypt', path, '--key', other])
})

test('nobody decrypts without the right, and the line says which key it is and what to do', async () => {
  const key = await newKey('A256GCM')
  const path = await sealed('text', key)
  const words = ['crypto', 'decrypt', path]
  await fails(
    words,
    new RegExp(`the key of .*, ${key}: .*key does not exist, was destroyed, or you have no right`),
    {
      token: bob,
    },
  )
  await ok(['access', 'grant', key, 'bob', 'encrypt'])
  await fails(words, /The owner can grant the right: warder access grant --help/, { token: bob })
  const mine = file('of bob')
  await ok(['crypto', 'encrypt', mine, '--key', key], { token: bob })
  await fails(['crypto', 'decrypt', `${mine}.warder`, '--force'], /grant the right/, { token: bob })
  await ok(['access', 'grant', key, 'bob', 'decrypt'])
  await ok(words, { token: bob })
  await ok(['access', 'revoke', key, 'bob', 'decrypt'])
  await fails([...words, '--force'], /grant the right/, { token: bob })
  await fails([...words, '--force'], /auth_verifier_realm.*\(unauthorized, request /, { token: 'a.b.c' })
})

test('who may use a key but not read about it names how it is used', async () => {
  const key = await newKey('A128GCM')
  await ok(['access', 'grant', key, 'bob', 'encrypt', 'decrypt'])
  const path = file('text')
  const words = ['crypto', 'encrypt', path, '--key', key]
  await fails(words, /crypto_failure/, { token: bob })
  assert.deepEqual(leftOf(path), [path.slice(folder.length + 1)])
  await ok([...words, '--alg', 'A128GCM'], { token: bob })
  await fails([...words, '--alg', 'ROT13'], /--alg must be one of A256GCM, /, { token: bob }, 2)
})

test('a key that is destroyed in between takes what it encrypted with it, and the line says so', async () => {
  const key = await newKey('A256GCM')
  const path = await sealed('gone', key)
  await ok(['keys', 'destroy', key, '--yes'])
  await fails(['crypto', 'decrypt', path], new RegExp(`${key}: Key not found\\. .*was destroyed`))
  await fails(['crypto', 'encrypt', path, '--key', key], /was destroyed/)
  assert.equal(leftOf(path.slice(0, -7)).length, 1)
})

test('keys that do not encrypt are refused with the way to one that does', async () => {
  const path = file('text')
  for (const alg of ['ES256', 'HS256', 'PS256']) {
    await fails(['crypto', 'encrypt', path, '--key', await newKey(alg)], /warder keys create --alg A256GCM/)
  }
  for (const key of [
    'nothing',
    randomBytes(16).toString('hex'),
    "' OR 1=1 --",
    '%2e%2e',
    'a/../b',
    'é'.repeat(300),
  ]) {
    await fails(['crypto', 'encrypt', path, '--key', key], /Key not found/)
  }
  for (const key of ['', '.', '..']) {
    await fails(['crypto', 'encrypt', path, '--key', key], /is not the id of a key/, {}, 2)
  }
  assert.equal(leftOf(path).length, 1)
})

test('files go through pipes, in and out', async () => {
  const plain = randomBytes(2 * mebibyte + 7)
  const path = join(folder, 'piped')
  writeFileSync(path, plain)
  const sealed = (await ok(['crypto', 'encrypt', '-', '--key', aes], { input: plain })).bytes
  const ran = await ok(['crypto', 'decrypt', '-'], { input: sealed })
  assert.ok(ran.bytes.equals(plain))
  assert.deepEqual([ran.out, ran.err], ['', ''])
  const out = (await ok(['crypto', 'encrypt', path, '--output', '-', '--key', aes])).bytes
  assert.ok((await ok(['crypto', 'decrypt', '-'], { input: out })).bytes.equals(plain))
  await ok(['crypto', 'decrypt', '-', '--output', `${path}.again`], { input: sealed })
  assert.ok(readFileSync(`${path}.again`).equals(plain))
  const cut = await run(['crypto', 'decrypt', '-'], { input: sealed.subarray(0, -1) })
  assert.deepEqual([cut.code, cut.bytes.length <= 2 * mebibyte], [1, true])
  assert.match(cut.err, /the file was changed, truncated or extended/)
  await fails(['crypto', 'decrypt', '-'], /this is not a file of warder crypto encrypt/, {
    input: plain,
  })
  await fails(
    ['crypto', 'encrypt', '-', '--key', aes, '--password-file', '-'],
    /standard input can be used only once/,
    {},
    2,
  )
})

test('what has the name of the output stays, whatever it is, unless --force is said', async () => {
  const path = file('text')
  const output = `${path}.warder`
  const words = ['crypto', 'encrypt', path, '--key', aes]
  writeFileSync(output, 'mine')
  await fails(words, /already exists: name another file with --output, or replace it with --force/)
  await fails([...words, '--output', path], /already exists/)
  assert.equal(readFileSync(output, 'utf8'), 'mine')
  await ok([...words, '--force'])
  await fails(['crypto', 'decrypt', output], /already exists/)
  const dangling = `${path}.link`
  symlinkSync(join(folder, 'nowhere'), dangling)
  await fails([...words, '--output', dangling], /already exists/)
  mkdirSync(`${path}.folder`)
  await fails([...words, '--output', `${path}.folder`], /already exists/)
  await fails([...words, '--output', `${path}.folder`, '--force'], /directory/)
  await fails([...words, '--output', join(folder, 'none', 'out')], /the folder .* does not exist/)
  await fails(['crypto', 'encrypt', join(folder, 'none'), '--key', aes], /none: no such file or directory/)
  await fails(['crypto', 'encrypt', folder, '--key', aes], /is not a file|directory/)
  await fails(['crypto', 'decrypt', path], /does not end with \.warder: use --output/, {}, 2)
  // Encrypting onto itself is allowed when it is said: the old content is there until the new one is whole.
  await ok([...words, '--output', path, '--force'])
  await ok(['crypto', 'decrypt', path, '--output', path, '--force'])
  assert.equal(readFileSync(path, 'utf8'), 'text')
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.partial')),
    [],
  )
})

test('a service that is not there leaves no output, and is told in one line', async () => {
  const path = file('text')
  const words = ['crypto', 'encrypt', path, '--key', aes, '--url', 'https://127.0.0.1:1']
  await fails(
    words,
    /the key management service: https:\/\/127\.0\.0\.1:1 cannot be reached: .*check that it is running \(warder start\)$/,
  )
  await fails(
    [...words, '--user', 'bob'],
    /not logged in: give a token .* or the authentication service with --auth-url/,
  )
  assert.equal(leftOf(path).length, 1)
})

test('Ctrl-C in the middle: exit code 130, one line, nothing left behind', async () => {
  const path = file(randomBytes(24 * mebibyte))
  const ran = await run(['crypto', 'encrypt', path, '--key', aes], { interruptAfter: 1 })
  assert.deepEqual([ran.code, ran.out], [130, ''])
  assert.equal(ran.err, 'interrupted (SIGINT): no output was left behind')
  assert.equal(leftOf(path).length, 1)
})

test('a signal to the real process leaves nothing behind either', {
  skip: process.platform === 'win32',
}, async () => {
  const path = file('')
  truncateSync(path, 4096 * mebibyte) // no bytes on disk
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const child = spawn(
      process.execPath,
      [program, 'crypto', 'encrypt', path, '--key', aes, '--home', warder.home],
      { env: cleanEnvironment({ WARDER_TOKEN: admin }), stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let err = ''
    child.stderr.on('data', (text) => {
      err += text
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    while (!leftOf(path).some((name) => name.endsWith('.partial'))) {
      assert.equal(child.exitCode, null, err)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    child.kill(signal)
    assert.equal(await ended, code)
    assert.equal(err, `interrupted (${signal}): no output was left behind\n`)
    assert.equal(leftOf(path).length, 1)
  }
  rmSync(path)
})

test('signatures of every algorithm verify; other files, other keys and other signatures do not', async () => {
  const other = await newPair('ES256')
  for (const alg of ['ES256', 'ES384', 'ES512', 'EdDSA', 'MLDSA44', 'PS256', 'RS512']) {
    const { kid, kid_public } = await newPair(alg)
    const path = file(randomBytes(3000))
    const { out } = await ok(['crypto', 'sign', path, '--key', kid])
    assert.equal(out, `${path}.sig  written, ${alg} with key ${kid}`)
    for (const key of [kid, kid_public]) await ok(['crypto', 'verify', path, '--key', key])
    const verify = ['crypto', 'verify', path, '--key']
    const foreign = await run([...verify, other.kid])
    assert.deepEqual([foreign.code, foreign.err], [3, ''])
    assert.match(foreign.out, new RegExp(`NOT VALID: signed by another key, ${kid_public}$`))
    writeFileSync(path, 'changed')
    const changed = await run([...verify, kid, '--json'])
    assert.equal(changed.code, 3)
    assert.equal(JSON.parse(changed.out).valid, false)
    await fails(['crypto', 'sign', path, '--key', kid], /\.sig already exists/)
    await ok(['crypto', 'sign', path, '--key', kid, '--force'])
    await ok([...verify, kid])
  }
})

test('what is no signature, or whose key is not there, is not called invalid: it could not be checked', async () => {
  const { kid, kid_public } = await newPair('ES256')
  const path = file('text')
  const verify = ['crypto', 'verify', path, '--key', kid]
  await fails(verify, /\.sig does not exist: name the signature with --signature/)
  for (const text of ['', 'null', '[]', '{"protected":1,"signature":"a"}', 'x'.repeat(70_000)]) {
    writeFileSync(`${path}.sig`, text)
    await fails(verify, /is not a signature of warder crypto sign/)
  }
  writeFileSync(`${path}.sig`, JSON.stringify({ protected: 'e30', signature: 'a' }))
  await fails(verify, /names no key/)
  await ok(['crypto', 'sign', path, '--key', kid, '--force'])
  await fails(
    ['crypto', 'sign', path, '--key', kid, '--output', `${path}.2`, '--alg', 'HS256'],
    /unsupported_algorithm/,
  )
  await ok(['keys', 'destroy', kid, '--yes'])
  await fails(['crypto', 'verify', path, '--key', kid_public], /was destroyed/)
  await fails(
    ['crypto', 'sign', path, '--key', aes, '--force'],
    /cannot sign: create a key with warder keys create/,
  )
})

test('a signature whose key may be the other half of the named one, as far as one can read, is not called invalid', async () => {
  const { kid, kid_public } = await newPair('ES256')
  const path = file('text')
  await ok(['crypto', 'sign', path, '--key', kid])
  const verify = (key: string) => ['crypto', 'verify', path, '--key', key]
  const untold = new RegExp(
    `names key ${kid_public}, and it is unknown whether ${kid} belongs to the same pair`,
  )
  await ok(['access', 'grant', kid_public, 'bob', 'signatureverify'])
  await ok(verify(kid_public), { token: bob })
  await fails(verify(kid), untold, { token: bob })
  for (const half of [kid, kid_public]) {
    await ok(['access', 'grant', half, 'bob', 'getattributes'])
    await ok(verify(kid), { token: bob })
    await ok(['access', 'revoke', half, 'bob', 'getattributes'])
  }
  await ok(['keys', 'destroy', kid, '--yes'])
  await fails(verify(kid), untold)
})

test('behind -- there are names alone, whatever they look like: no file is an option, or asks for the help', async () => {
  const { kid } = await newPair('ES256')
  const verify = ['crypto', 'verify', '--key', kid, '--']
  for (const name of ['--help', '-h']) {
    const { code, out } = await runWarder([...verify, name, '--home', warder.home])
    assert.deepEqual([code, out], [2, ''], name)
    assert.equal((await runWarder([...verify, name], { WARDER_HOME: warder.home })).code, 1, name)
  }
  for (const name of ['--json', '--yes', '--signature=x', '--token-file=x', `--key=${aes}`, '--'])
    await fails([...verify, name], new RegExp(`${name}.sig does not exist`))
  await fails(['keys', 'destroy', '--', kid, '--yes'], /key --yes: Key not found/)
  await fails(['keys', 'tag', kid, '--', '--json', '_'], /must not begin with `_`/)
})

test('a signature is a detached JWS that other libraries verify with the published key', async () => {
  const { kid, kid_public } = await newPair('ES256')
  const path = file('abc')
  await ok(['crypto', 'sign', path, '--key', kid])
  const { out } = await ok(['keys', 'show', kid_public, '--json'])
  const key = await importJWK(JSON.parse(out).public_jwk, 'ES256')
  const payload = 'warder-file-sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  const jws = JSON.parse(readFileSync(`${path}.sig`, 'utf8'))
  await flattenedVerify({ ...jws, payload: Buffer.from(payload).toString('base64url') }, key)
})

test('a MAC is the HMAC of the bytes; a wrong one has an exit code of its own', async () => {
  const k = Buffer.from(
    'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
    'base64url',
  )
  const jwk = file(JSON.stringify({ kty: 'oct', alg: 'HS256', k: k.toString('base64url') }))
  const { kid } = JSON.parse((await ok(['keys', 'import', jwk, '--json'])).out)
  // RFC 7515, appendix A.1.
  const signingInput =
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
  const known = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const mac = ['crypto', 'mac', file(signingInput), '--key', kid]
  assert.equal((await ok(mac)).out, known)
  const piped = await ok(['crypto', 'mac', '-', '--key', kid], { input: Buffer.from(signingInput) })
  assert.equal(piped.out, known)
  await ok([...mac, '--verify', known])
  const wrong = await run([...mac, '--verify', known.replace('d', 'e')])
  assert.equal(wrong.code, 3)
  assert.match(wrong.out, /NOT VALID/)
  await fails([...mac, '--verify', 'not base64!'], /--verify must be a MAC in base64url/, {}, 2)
  await fails(
    ['crypto', 'mac', file(''), '--key', aes],
    /cannot compute MACs: create a key with warder keys create --alg HS256/,
  )
  const large = file('')
  truncateSync(large, 32 * mebibyte + 1)
  await fails(['crypto', 'mac', large, '--key', kid], /larger than 32 MiB/)
})

test('data of standard input is encrypted to a JWE and back, up to the limit that the help names', async () => {
  const rsa = await newPair('RSA-OAEP-256')
  for (const key of [aes, rsa.kid_public]) {
    for (const input of [Buffer.alloc(0), Buffer.from('a secret'), randomBytes(70_000)]) {
      const { bytes } = await ok(['crypto', 'encrypt-data', '--key', key, '--aad', 'row 17'], { input })
      const decrypt = ['crypto', 'decrypt-data', '--key', key]
      const back = await ok([...decrypt, '--aad', 'row 17'], { input: bytes })
      assert.ok(back.bytes.equals(input))
      await fails([...decrypt, '--aad', 'row 18'], /with another --aad/, { input: bytes })
      await fails(decrypt, /with an --aad: give the same/, { input: bytes })
      const jwe = JSON.parse(bytes.toString())
      const bare = Buffer.from(JSON.stringify({ ...jwe, aad: undefined }))
      await fails(decrypt, /decryption_failed/, { input: bare })
      const moved = Buffer.from(JSON.stringify({ ...jwe, aad: Buffer.from('row 18').toString('base64url') }))
      await fails([...decrypt, '--aad', 'row 18'], /decryption_failed/, { input: moved })
    }
  }
  const most = Buffer.alloc(32 * mebibyte, 7)
  const { bytes } = await ok(['crypto', 'encrypt-data', '--key', aes], { input: most })
  assert.ok((await ok(['crypto', 'decrypt-data'], { input: bytes })).bytes.equals(most))
  const more = Buffer.alloc(32 * mebibyte + 1)
  await fails(['crypto', 'encrypt-data', '--key', aes], /standard input has more than 32 MiB$/, {
    input: more,
  })
  await fails(['crypto', 'decrypt-data', '--aad', 'x'], /without --aad/, { input: bytes })
  for (const words of [['encrypt-data', '--key', aes], ['decrypt-data']])
    await fails(['crypto', ...words, '--aad', ''], /--aad is empty/, { input: Buffer.from('x') }, 2)
  const small = await ok(['crypto', 'encrypt-data', '--key', aes], { input: Buffer.from('x') })
  const emptyAad = Buffer.from(JSON.stringify({ ...JSON.parse(small.bytes.toString()), aad: '' }))
  assert.equal((await ok(['crypto', 'decrypt-data'], { input: emptyAad })).bytes.toString(), 'x')
  for (const text of ['', 'null', '{"iv":7}', '{']) {
    await fails(['crypto', 'decrypt-data'], /is not a flattened JWE|names no key/, {
      input: Buffer.from(text),
    })
  }
  const other = await newKey('A256GCM')
  await fails(['crypto', 'decrypt-data', '--key', other], /another key/, { input: bytes })
})

test('what is piped is either the data or the password', async () => {
  const words = ['crypto', 'encrypt-data', '--key', aes, '--password-file', '-']
  await fails(words, /standard input can be used only once/, {}, 2)
  await fails(['keys', 'import', '-', '--token-file', '-'], /only once/, {}, 2)
})
