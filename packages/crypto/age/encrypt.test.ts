import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createAgeIdentity, formatRecipient } from '../testing/age-identity.ts'
import { encryptAge, maxAgePlaintextBytes } from './encrypt.ts'
import { parseAgeRecipient } from './recipient.ts'

const isAgeThere = spawnSync('age', ['--version']).status === 0

/** From the specification of age: https://age-encryption.org/v1 (the recipient of its X25519 example). */
const known = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj'

test('a recipient is read with its checksum, in lower or upper case', () => {
  const key = parseAgeRecipient(known)
  assert.equal(key?.length, 32)
  assert.equal(formatRecipient(key ?? Buffer.alloc(0)), known)
  assert.deepEqual(parseAgeRecipient(known.toUpperCase()), key)
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      assert.deepEqual(parseAgeRecipient(formatRecipient(bytes)), Buffer.from(bytes))
    }),
  )
})

test('a mistyped recipient and other kinds of recipients are refused', () => {
  const letters = [...known]
  for (let at = 4; at < letters.length; at += 1) {
    const wrong = letters.with(at, letters[at] === 'q' ? 'p' : 'q').join('')
    assert.equal(parseAgeRecipient(wrong), undefined, wrong)
  }
  for (const text of [
    '',
    'age1',
    `${known}q`,
    known.slice(0, -1),
    `Age1${known.slice(4)}`,
    'age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJCBRUqBt9r0o1lm9ZQnhYlmDLuJF9ZtqTJ1YkHGLJ7z',
  ])
    assert.equal(parseAgeRecipient(text), undefined, text)
})

test('only the recipient decrypts, and no changed file', () => {
  const [anna, ben] = [createAgeIdentity(), createAgeIdentity()]
  const key = parseAgeRecipient(anna.recipient) ?? Buffer.alloc(0)
  for (const length of [0, 1, 47, 48, 1000, maxAgePlaintextBytes]) {
    const text = Buffer.alloc(length, 7)
    assert.deepEqual(anna.decrypt(encryptAge(key, text)), text)
  }
  const armored = encryptAge(key, Buffer.from('a share'))
  assert.throws(() => ben.decrypt(armored))
  const lines = armored.split('\n')
  const changed = lines.with(-3, `AAAA${(lines.at(-3) ?? '').slice(4)}`).join('\n')
  assert.throws(() => anna.decrypt(changed))
  assert.throws(() => encryptAge(key, Buffer.alloc(maxAgePlaintextBytes + 1)), /longer than one chunk/)
  assert.throws(() => encryptAge(Buffer.alloc(32), Buffer.alloc(1)), 'a public key of low order')
})

test('the program age decrypts what is encrypted here', {
  skip: !isAgeThere && 'the program age is not installed (apt-get install age)',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-age-'))
  try {
    const identity = execFileSync('age-keygen', { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
    const file = join(folder, 'key.txt')
    writeFileSync(file, identity, { mode: 0o600 })
    const recipient = parseAgeRecipient(/age1\w+/.exec(identity)?.[0] ?? '')
    assert.ok(recipient !== undefined)
    for (const length of [0, 1, 200, maxAgePlaintextBytes]) {
      const text = Buffer.alloc(length, 'share ')
      const input = encryptAge(recipient, text)
      assert.deepEqual(execFileSync('age', ['--decrypt', '--identity', file], { input }), text)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
