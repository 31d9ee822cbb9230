import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createPublicKey, type VerifyKeyObjectInput, verify } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { maxPerLane } from './connection.ts'
import { TokenError } from './protocol.ts'
import { createSofthsmToken, missingSofthsm, missingTools, type SofthsmToken } from './testing/softhsm.ts'
import { openToken, type Token } from './token.ts'
import type { TokenOptions } from './token-sessions.ts'

const skip = missingSofthsm

/** Opens the token for the test, and closes it after that. */
async function openFor(
  t: { after(end: () => Promise<void>): void },
  softhsm: SofthsmToken,
  options: Partial<TokenOptions> = {},
): Promise<Token> {
  const { library, label, pinFile, env } = softhsm
  const token = await openToken({ library, token: { label }, pinFile, env, sessions: 2, ...options })
  t.after(() => token.close())
  return token
}

test('a key made in the token encrypts and decrypts, and does not leave it', { skip }, async (t) => {
  using softhsm = createSofthsmToken()
  const token = await openFor(t, softhsm)
  assert.equal(token.info.label, softhsm.label)
  assert.equal(token.encryption, 'A256GCM')
  const made = await token.generateKey('root')
  assert.equal(made.label, 'root')
  assert.deepEqual(
    [made.sensitive, made.alwaysSensitive, made.extractable, made.neverExtractable, made.local, made.token],
    [true, true, false, true, true, true],
  )
  const plaintext = Buffer.from('thirty-two bytes of a data key..')
  const additionalData = Buffer.from('context')
  const encrypted = await token.encrypt({ label: 'root' }, plaintext, { additionalData })
  assert.equal(encrypted.ciphertext.length, plaintext.length + 16)
  assert.deepEqual(await token.decrypt({ label: 'root' }, encrypted, additionalData), plaintext)
  await assert.rejects(token.decrypt({ label: 'root' }, encrypted, Buffer.from('other')), {
    code: 'invalid_data',
  })
})

test('signatures of the token verify in Node, and in the token', { skip }, async (t) => {
  using softhsm = createSofthsmToken()
  const token = await openFor(t, softhsm)
  const kinds = {
    rsa: { type: { rsaBits: 2048 }, algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] },
    'p-256': { type: { curve: 'P-256' }, algorithms: ['ES256'] },
    'p-384': { type: { curve: 'P-384' }, algorithms: ['ES384'] },
    'p-521': { type: { curve: 'P-521' }, algorithms: ['ES512'] },
    ed25519: { type: { curve: 'Ed25519' }, algorithms: ['EdDSA'] },
  } as const
  const data = Buffer.from('signed by the token')
  for (const [label, { type, algorithms }] of Object.entries(kinds)) {
    const made = await token.generateKeyPair(label, type)
    assert.deepEqual([made.sensitive, made.extractable, made.sign], [true, false, true])
    const key = createPublicKey({ key: await token.publicKey({ label }), format: 'jwk' })
    for (const algorithm of algorithms) {
      const signature = await token.sign({ label }, algorithm, data)
      const hash = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(2)}`
      const pss = algorithm.startsWith('PS') ? { padding: 6, saltLength: Number(algorithm.slice(2)) / 8 } : {}
      assert.ok(
        verify(hash, data, { key, dsaEncoding: 'ieee-p1363', ...pss } as VerifyKeyObjectInput, signature),
        algorithm,
      )
      assert.equal(await token.verify({ label }, algorithm, data, signature), true, algorithm)
      const other = Buffer.from(signature)
      other[5] = (other[5] ?? 0) ^ 1
      assert.equal(await token.verify({ label }, algorithm, data, other), false, algorithm)
      assert.equal(await token.verify({ label }, algorithm, data, signature.subarray(1)), false, algorithm)
    }
  }
  await assert.rejects(token.sign({ label: 'p-384' }, 'ES256', data), { code: 'not_supported' })
  await assert.rejects(token.sign({ label: 'rsa' }, 'EdDSA', data), { name: 'TokenError' })
})

test('key wrap encrypts where AES-GCM is missing, bound to its additional data', { skip }, async (t) => {
  using softhsm = createSofthsmToken()
  const token = await openFor(t, softhsm)
  await token.generateKey('wrapping', 'A256KWP')
  const key = { label: 'wrapping' }
  for (const algorithm of ['A256KWP', 'A256KW'] as const) {
    for (const length of [0, 1, 32, 4000]) {
      const plaintext = Buffer.alloc(length, 0x5a)
      const additionalData = Buffer.from('kms data key 1')
      const encrypted = await token.encrypt(key, plaintext, { additionalData, algorithm })
      assert.ok(!Buffer.from(encrypted.ciphertext).includes(Buffer.alloc(16, 0x5a)))
      assert.deepEqual(await token.decrypt(key, encrypted, additionalData), plaintext)
      await assert.rejects(token.decrypt(key, encrypted, Buffer.from('kms data key 2')), {
        code: 'invalid_data',
      })
      const ciphertext = Buffer.from(encrypted.ciphertext)
      ciphertext[9] = (ciphertext[9] ?? 0) ^ 1
      await assert.rejects(token.decrypt(key, { ...encrypted, ciphertext }, additionalData), {
        code: 'invalid_data',
      })
    }
  }
  assert.deepEqual(await token.attributes('secret', key).then(({ decrypt, unwrap }) => [decrypt, unwrap]), [
    false,
    true,
  ])
  await assert.rejects(token.encrypt(key, Buffer.alloc(8), { algorithm: 'A256GCM' }), {
    code: 'not_supported',
  })
})

test('a key of pkcs11-tool is used, wrapped, unwrapped and destroyed; ours is listed by pkcs11-tool and p11tool', {
  skip: skip || missingTools('pkcs11-tool', 'p11tool'),
}, async (t) => {
  using softhsm = createSofthsmToken()
  const { library, pin, label } = softhsm
  const pkcs11Tool = (...words: readonly string[]): string =>
    softhsm.run('pkcs11-tool', '--module', library, '--token-label', label, '--login', '--pin', pin, ...words)
  pkcs11Tool('--keygen', '--key-type', 'AES:32', '--label', 'theirs', '--id', 'beef', '--extractable')
  pkcs11Tool('--keypairgen', '--key-type', 'rsa:2048', '--label', 'their pair', '--id', 'cafe')
  const token = await openFor(t, softhsm)
  const encrypted = await token.encrypt({ id: 'beef' }, Buffer.from('data'))
  assert.equal((await token.decrypt({ label: 'theirs' }, encrypted)).toString(), 'data')
  const key = createPublicKey({ key: await token.publicKey({ label: 'their pair' }), format: 'jwk' })
  const signature = await token.sign({ id: 'cafe' }, 'RS256', Buffer.from('data'))
  assert.ok(verify('sha256', Buffer.from('data'), key, signature))

  await token.generateKey('wrapping', 'A256KWP')
  const wrapped = await token.wrap({ label: 'wrapping' }, { label: 'theirs' })
  const unwrapped = await token.unwrap({ label: 'wrapping' }, wrapped, 'copy')
  assert.deepEqual([unwrapped.sensitive, unwrapped.extractable, unwrapped.local], [true, false, false])
  assert.equal((await token.decrypt({ label: 'copy' }, encrypted)).toString(), 'data')
  await assert.rejects(token.wrap({ label: 'wrapping' }, { label: 'copy' }), { code: 'not_supported' })
  await assert.rejects(token.unwrap({ label: 'wrapping' }, wrapped.subarray(8), 'other'), {
    code: 'invalid_data',
  })

  const listed = pkcs11Tool('--list-objects')
  for (const name of ['theirs', 'wrapping', 'copy', 'their pair'])
    assert.match(listed, new RegExp(`label: +${name}`))
  const ours = softhsm.run(
    'p11tool',
    '--provider',
    library,
    '--login',
    '--set-pin',
    pin,
    '--list-all',
    `pkcs11:token=${encodeURIComponent(label)}`,
  )
  assert.match(ours, /Label: wrapping/)

  // A handle that was used before is of no key any more.
  pkcs11Tool('--delete-object', '--type', 'secrkey', '--label', 'copy')
  await assert.rejects(token.decrypt({ label: 'copy' }, encrypted), {
    code: 'key_not_found',
    message: 'the PKCS#11 token "warder test" of libsofthsm2.so: the token has no secret key "copy"',
  })
  await token.destroy('secret', { label: 'wrapping' })
  assert.doesNotMatch(pkcs11Tool('--list-objects'), /wrapping/)
  await assert.rejects(token.wrap({ label: 'wrapping' }, { label: 'theirs' }), { code: 'key_not_found' })
})

test('a label is that of one key: a second one is not made, and two are ambiguous', {
  skip: skip || missingTools('pkcs11-tool'),
}, async (t) => {
  using softhsm = createSofthsmToken()
  const { library, pin, label } = softhsm
  const token = await openFor(t, softhsm)
  const made = await token.generateKey('root')
  await assert.rejects(token.generateKey('root'), { code: 'key_exists' })
  await token.generateKeyPair('root', { curve: 'P-256' })
  await assert.rejects(token.generateKeyPair('root', { curve: 'P-256' }), { code: 'key_exists' })
  const generate = ['--keygen', '--key-type', 'AES:32', '--label', 'root', '--id', '01']
  softhsm.run(
    'pkcs11-tool',
    '--module',
    library,
    '--token-label',
    label,
    '--login',
    '--pin',
    pin,
    ...generate,
  )
  await assert.rejects(token.attributes('secret', { label: 'root' }), { code: 'key_ambiguous' })
  const { id } = await token.attributes('secret', { label: 'root', id: made.id ?? '' })
  assert.equal(id, made.id)
})

test('a wrong label names the tokens that are there, and of two with one label a slot is chosen', {
  skip,
}, async (t) => {
  using softhsm = createSofthsmToken()
  const { library, pinFile, env, label } = softhsm
  await assert.rejects(openToken({ library, token: { label: 'other' }, pinFile, env }), {
    code: 'token_not_found',
    message:
      'the PKCS#11 token "other" of libsofthsm2.so: the library has no such token: it has "warder test"',
  })
  softhsm.addToken(label)
  await assert.rejects(openToken({ library, token: { label }, pinFile, env }), {
    code: 'token_not_found',
    message: /several tokens have this label: name the slot, one of \d+, \d+$/,
  })
  const slot = Number(/Slot (\d+)/.exec(softhsm.run('softhsm2-util', '--show-slots'))?.[1])
  const token = await openFor(t, softhsm, { token: { slot } })
  assert.equal(token.info.slot, slot)
  assert.equal((await token.random(64)).length, 64)
  await assert.rejects(openToken({ library, token: { slot: 1 }, pinFile, env }), {
    message: 'the PKCS#11 token in slot 1 of libsofthsm2.so: C_GetTokenInfo: CKR_SLOT_ID_INVALID',
  })
})

test('a wrong PIN is refused until its file changes, and a PIN file that others can read is not used', {
  skip,
}, async (t) => {
  using softhsm = createSofthsmToken()
  const { library, pinFile, env, label } = softhsm
  const open = () => openToken({ library, token: { label }, pinFile, env })
  writeFileSync(pinFile, 'wrong-pin\n')
  const refused = {
    code: 'login_refused',
    message: `the PKCS#11 token "warder test" of libsofthsm2.so: the token refuses the PIN of ${pinFile} (C_Login: CKR_PIN_INCORRECT), which is not tried again until the file changes`,
  }
  await assert.rejects(open(), refused)
  await assert.rejects(open(), refused)
  chmodSync(pinFile, 0o644)
  await assert.rejects(open(), {
    code: 'login_refused',
    message: /other users can read it: run chmod 600 on it$/,
  })
  chmodSync(pinFile, 0o600)
  writeFileSync(pinFile, '\n')
  await assert.rejects(open(), { message: /its first line is empty$/ })
  writeFileSync(pinFile, softhsm.pin)
  const token = await openFor(t, softhsm)
  assert.equal((await token.random(16)).length, 16)
  rmSync(pinFile)
  await assert.rejects(open(), { code: 'login_refused', message: /cannot be used: ENOENT/ })
})

test('a token whose folder is removed fails by name, and serves again when the folder is back', {
  skip,
}, async (t) => {
  using softhsm = createSofthsmToken()
  const token = await openFor(t, softhsm, { sessions: 1 })
  await token.generateKey('root')
  const encrypted = await token.encrypt({ label: 'root' }, Buffer.from('data'))
  const tokens = join(softhsm.folder, 'tokens')
  renameSync(tokens, `${tokens}.away`)
  for (let attempt = 0; attempt < 3; attempt += 1)
    await assert.rejects(token.decrypt({ label: 'root' }, encrypted), (error) => {
      assert.ok(error instanceof TokenError)
      assert.match(error.message, /^the PKCS#11 token "warder test" of libsofthsm2\.so: /)
      return true
    })
  renameSync(`${tokens}.away`, tokens)
  const deadline = performance.now() + 20_000
  for (;;) {
    try {
      assert.equal((await token.decrypt({ label: 'root' }, encrypted)).toString(), 'data')
      break
    } catch (error) {
      if (performance.now() > deadline || !(error instanceof TokenError)) throw error
      await delay(100)
    }
  }
})

test('many requests at once share the sessions, and a closed token rejects the rest', { skip }, async (t) => {
  using softhsm = createSofthsmToken()
  const token = await openFor(t, softhsm, { sessions: 3 })
  await token.generateKey('root')
  const texts = Array.from({ length: 200 }, (_, index) => `text ${index}`)
  const decrypted = await Promise.all(
    texts.map(async (text) => {
      const encrypted = await token.encrypt({ label: 'root' }, Buffer.from(text))
      return (await token.decrypt({ label: 'root' }, encrypted)).toString()
    }),
  )
  assert.deepEqual(decrypted, texts)
  const all = await Promise.allSettled(Array.from({ length: 300 }, () => token.random(16)))
  const codes = all.flatMap((one) => (one.status === 'rejected' ? [(one.reason as TokenError).code] : []))
  assert.deepEqual([...new Set(codes)], ['overloaded'])
  assert.equal(codes.length, 300 - 256 - 3 * maxPerLane)
  await assert.rejects(token.encrypt({ label: 'root' }, Buffer.alloc(65_000)), { code: 'invalid_data' })
  const large = Buffer.alloc(60_000, 7)
  assert.deepEqual(
    await token.decrypt({ label: 'root' }, await token.encrypt({ label: 'root' }, large)),
    large,
  )
  await token.close()
  await assert.rejects(token.random(16), { code: 'closed' })
})

test('a program that uses a token writes nothing to its terminal, and its death ends the process of the library', {
  skip,
}, async () => {
  using softhsm = createSofthsmToken()
  const { library, label, pinFile, env } = softhsm
  const program = `
    import { openToken } from ${JSON.stringify(new URL('./token.ts', import.meta.url).href)}
    const token = await openToken(${JSON.stringify({ library, token: { label }, pinFile })})
    const children = (await import('node:fs')).readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8')
    process.stdout.write(children)
    if (process.argv.includes('stay')) await new Promise((resolve) => setTimeout(resolve, 60_000))
    await token.close()`
  const words = ['--input-type=module-typescript', '-e', program]
  const closed = spawnSync(process.execPath, words, { env, encoding: 'utf8', timeout: 60_000 })
  assert.deepEqual([closed.status, closed.stderr], [0, ''])
  const staying = spawn(process.execPath, [...words, 'stay'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = (await once(staying.stdout, 'data')) as [Buffer]
  const pid = Number(text.toString().trim())
  assert.ok(pid > 0)
  staying.kill('SIGKILL')
  await untilGone(pid)
})

async function untilGone(pid: number): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await delay(20)) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
  }
  assert.fail(`process ${pid} is still there`)
}
