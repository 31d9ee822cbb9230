import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestPostgres } from '@warder/foundation/sql/testing'
import { main } from '../main.ts'
import { cleanEnvironment, type Installation, startInstallation } from '../testing/installation.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-backup-'))
const postgres = await startTestPostgres()
const passphraseFile = join(room, 'passphrase')
const nightly = join(room, 'nightly.backup')
const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))
let source: Installation
let kid = ''
let jwe: unknown

before(async () => {
  writeFileSync(passphraseFile, 'correct horse battery staple\n')
  source = await startInstallation({ home: join(room, 'source') })
  const made = await asAdmin(source, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  kid = String(made.kid)
  jwe = await asAdmin(source, '/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' })
  assert.equal((await run('backup', nightly, '--home', source.home, ...secret)).code, 0)
})
after(async () => {
  await source?.stop()
  if (!('missing' in postgres)) await postgres.stop()
  rmSync(room, { recursive: true, force: true })
})

const secret = ['--passphrase-file', passphraseFile] as const

async function run(...words: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env: {},
  }
  const code = await main(words, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

async function asAdmin(
  installation: Installation,
  path: string,
  json: unknown,
): Promise<Record<string, unknown>> {
  const client = installation.client('kms')
  try {
    const headers = { authorization: `Bearer ${await installation.adminToken()}` }
    const { status, text } = await client.ask(path, { json, headers })
    assert.ok(status < 300, text)
    return JSON.parse(text)
  } finally {
    client.close()
  }
}

/** Starts a restored home and opens there what was encrypted before. */
async function opensThere(home: string): Promise<void> {
  writeFileSync(join(home, 'root.key'), readFileSync(join(source.home, 'root.key')), { mode: 0o600 })
  writeFileSync(join(home, 'initial-admin-password'), source.password)
  const restored = await startInstallation({ home })
  try {
    const { data } = await asAdmin(restored, '/v1/crypto/decrypt', jwe)
    assert.equal(data, 'aGVsbG8')
  } finally {
    assert.equal(await restored.stop(), 0)
  }
}

test('a backup of a running installation holds no root key and nothing in clear, and a drill proves it', async () => {
  assert.equal(statSync(nightly).mode & 0o777, 0o600)
  const bytes = readFileSync(nightly)
  assert.ok(!bytes.includes(kid) && !bytes.includes('admin'))
  assert.ok(!readdirSync(room).some((name) => name.endsWith('.part')))
  const again = await run('backup', nightly, '--home', source.home, ...secret)
  assert.match(again.err, /is there already: a backup overwrites nothing/)
  const passwordFile = join(room, 'password')
  writeFileSync(passwordFile, source.password)
  const login = ['--user', 'admin', '--password-file', passwordFile]
  const drilled = await run('drill', room, '--home', source.home, ...secret, ...login)
  assert.equal(drilled.code, 0, drilled.err + drilled.out)
  assert.match(drilled.out, /keys {8}\d+ opened\n[\s\S]*admin logged in and used keys[\s\S]*chain {7}whole/)
  assert.ok(existsSync(join(source.home, 'drill.json')) && existsSync(join(source.home, 'backup.json')))
})

test('an installation moves to PostgreSQL and back', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const [auth, kms] = [await postgres.database(), await postgres.database()]
  const home = join(room, 'on-postgresql')
  const databases = ['--auth-database', auth, '--kms-database', kms]
  const moved = await run('restore', nightly, '--home', home, ...secret, ...databases)
  assert.equal(moved.code, 0, moved.err)
  await opensThere(home)
  // Not empty any more.
  const second = await run('restore', nightly, '--home', join(room, 'second'), ...secret, ...databases)
  assert.match(second.err, /the database is not empty/)
  const back = join(room, 'from-postgresql.backup')
  assert.equal((await run('backup', back, '--home', home, '--root-key', '--audit', ...secret)).code, 0)
  const again = join(room, 'on-sqlite')
  const sqlite = ['--auth-database', 'sqlite:auth.db', '--kms-database', 'sqlite:kms.db']
  assert.equal((await run('restore', back, '--home', again, ...secret, ...sqlite)).code, 0)
  await opensThere(again)
  assert.equal((await run('audit', 'verify', '--home', again)).code, 0)
})

test('a key pair of an officer opens a backup, and nobody else', async () => {
  const officer = generateKeyPairSync('x25519')
  const other = generateKeyPairSync('x25519')
  const files = {
    public: join(room, 'officer.pub'),
    private: join(room, 'officer.key'),
    other: join(room, 'other.key'),
  }
  writeFileSync(files.public, officer.publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(files.private, officer.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(files.other, other.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const file = join(room, 'for-officer.bak')
  assert.equal((await run('backup', file, '--home', source.home, '--to', files.public)).code, 0)
  const home = join(room, 'by-officer')
  for (const wrong of [['--key', files.other], secret]) {
    const refused = await run('restore', file, '--home', home, ...wrong)
    assert.deepEqual([refused.code, existsSync(home)], [1, false])
    assert.match(refused.err, /is opened with a private key/)
  }
  assert.equal((await run('restore', file, '--home', home, '--key', files.private)).code, 0)
  assert.ok(existsSync(join(home, 'kms.db')) && !existsSync(join(home, 'root.key')))
})

test('a backup that is cut, changed, longer, of another passphrase or no backup restores nothing', async () => {
  const whole = readFileSync(nightly)
  const wrong = join(room, 'wrong-passphrase')
  writeFileSync(wrong, 'another long passphrase')
  const damaged = join(room, 'damaged')
  const home = join(room, 'from-damaged')
  const flipped = (at: number): Buffer => {
    const bytes = Buffer.from(whole)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    return bytes
  }
  const header = whole.indexOf(10)
  const cases: readonly (readonly [string, Buffer])[] = [
    ['cut', whole.subarray(0, whole.length - 1)],
    ['cut in the header', whole.subarray(0, header - 10)],
    ['cut behind the header', whole.subarray(0, header + 1)],
    ['empty', Buffer.alloc(0)],
    ['longer', Buffer.concat([whole, Buffer.alloc(1)])],
    ['twice', Buffer.concat([whole, whole])],
    ['header', flipped(header - 30)],
    ['code of the header', flipped(header + 5)],
    ['in the middle', flipped(whole.length >> 1)],
    ['at the end', flipped(whole.length - 1)],
    ['something else', Buffer.from('{"format":"tar"}\n')],
  ]
  for (const [what, bytes] of cases) {
    writeFileSync(damaged, bytes)
    const refused = await run('restore', damaged, '--home', home, ...secret)
    assert.deepEqual(
      [refused.code, existsSync(home), existsSync(`${home}.restoring`)],
      [1, false, false],
      what,
    )
    assert.match(refused.err, /^warder restore: /, what)
  }
  const refused = await run('restore', nightly, '--home', home, '--passphrase-file', wrong)
  assert.match(refused.err, /the passphrase is not the one of this backup/)
})

test('a restore replaces nothing, and one that was killed is begun anew', async () => {
  const full = await run('restore', nightly, '--home', source.home, ...secret)
  assert.match(full.err, /is not empty: a restore replaces nothing/)
  const home = join(room, 'killed')
  // Each round kills it later: before it has begun, while it fills the home, and when it may be done.
  for (const afterMs of [300, 600, 900, 1200]) {
    if (existsSync(home)) break
    const child = spawn(process.execPath, [entry, 'restore', nightly, '--home', home, ...secret], {
      env: cleanEnvironment({}),
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    child.kill('SIGKILL')
    await ended
  }
  if (!existsSync(home)) assert.equal((await run('restore', nightly, '--home', home, ...secret)).code, 0)
  await opensThere(home)
})

test('two restores at once: one does it', async () => {
  const home = join(room, 'twice')
  const both = await Promise.all([
    run('restore', nightly, '--home', home, ...secret),
    run('restore', nightly, '--home', home, ...secret),
  ])
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1])
  assert.ok(existsSync(join(home, 'auth.db')))
})

test('what the surviving log knows is told, and the start next to it asks before it loses that', async () => {
  const made = await asAdmin(source, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.ok(made.kid)
  const home = join(room, 'older')
  const audit = join(source.home, 'audit')
  const told = await run('restore', nightly, '--home', home, '--surviving-audit', audit, ...secret)
  assert.match(told.out, /kms: done after the backup, and missing now: .*keys\.create \d/)
})
