import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { findRestored, openPostgres } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { restore } from '../backup/restore.ts'
import { readUnlock } from '../backup/secrets.ts'
import { type BackedUp, backedUp } from '../testing/backed-up.ts'
import { cleanEnvironment, runWarder, startInstallation } from '../testing/installation.ts'
import { program } from '../testing/program.ts'

const postgres = await startTestPostgres()
let there: BackedUp

/** Rows that a restore has left in a database for the first start. */
async function restoredAt(url: string): Promise<number> {
  const db = await openPostgres({ url, readers: 1, writers: 1 })
  try {
    return (await findRestored(db))?.restoredAt ?? Number.NaN
  } finally {
    await db.close()
  }
}

before(async () => {
  there = await backedUp()
})
after(async () => {
  await there?.stop()
  if (!('missing' in postgres)) await postgres.stop()
})

test('an installation moves to PostgreSQL and back', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const { room, nightly, secret, run, opensThere } = there
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
  const from = ['--from', join(home, 'backup-signing.pub')]
  assert.equal((await run('restore', back, '--home', again, ...from, ...secret, ...sqlite)).code, 0)
  await opensThere(again)
  assert.equal((await run('audit', 'verify', '--home', again)).code, 0)
})

test('a key pair of an officer opens a backup, and nobody else', async () => {
  const { room, source, secret, run } = there
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
    assert.match(refused.err, /this backup needs a private key/)
  }
  assert.equal((await run('restore', file, '--home', home, '--key', files.private)).code, 0)
  assert.ok(existsSync(join(home, 'kms.db')) && !existsSync(join(home, 'root.key')))
})

test('a backup that is cut, changed, longer, of another passphrase or no backup restores nothing', async () => {
  const { room, nightly, secret, run } = there
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
    assert.deepEqual([refused.code, existsSync(home)], [1, false], what)
    assert.match(refused.err, /^warder restore: /, what)
  }
  const refused = await run('restore', nightly, '--home', home, '--passphrase-file', wrong)
  assert.match(refused.err, /wrong passphrase for this backup/)
})

test('a restore replaces nothing, and one that was killed is begun anew', async () => {
  const { room, source, nightly, secret, run, opensThere } = there
  const full = await run('restore', nightly, '--home', source.home, ...secret)
  assert.match(full.err, /is not empty \(audit\), and a restore overwrites nothing/)
  const home = join(room, 'killed')
  const isDone = (): boolean => existsSync(join(home, 'kms.db')) && !existsSync(join(home, '.restoring'))
  // Each round kills it later: before it has begun, while it fills the home, and when it may be done.
  for (const afterMs of [300, 600, 900, 1200]) {
    if (isDone()) break
    const from = ['--from', join(source.home, 'backup-signing.pub')]
    const child = spawn(process.execPath, [program, 'restore', nightly, '--home', home, ...from, ...secret], {
      env: cleanEnvironment({}),
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    child.kill('SIGKILL')
    await ended
  }
  if (!isDone()) assert.equal((await run('restore', nightly, '--home', home, ...secret)).code, 0)
  await opensThere(home)
})

test('a database that the environment overrules is refused, and nothing is left of the home', async () => {
  const { room, nightly } = there
  const home = join(room, 'overruled')
  const words = ['restore', nightly, '--home', home, '--kms-database', 'sqlite:kms.db', ...there.secret]
  const { code, err } = await runWarder(words, { KMS_DATABASE_URL: 'sqlite:other.db' })
  assert.deepEqual([code, existsSync(home)], [1, false])
  assert.match(err, /KMS_DATABASE_URL is set to another database/)
})

test('two restores at once: one does it', async () => {
  const { room, nightly, secret, run } = there
  const home = join(room, 'twice')
  const both = await Promise.all([
    run('restore', nightly, '--home', home, ...secret),
    run('restore', nightly, '--home', home, ...secret),
  ])
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1])
  assert.ok(existsSync(join(home, 'auth.db')))
})

test('what the surviving log knows is told, and the start next to it asks before it loses that', async () => {
  const { room, source, nightly, secret, run, asAdmin } = there
  const made = await asAdmin(source, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.ok(made.kid)
  const home = join(room, 'older')
  const audit = join(source.home, 'audit')
  const told = await run('restore', nightly, '--home', home, '--surviving-audit', audit, ...secret)
  assert.match(told.out, /kms: operations after the backup, now lost: .*keys\.create \d/)
})

test('a folder that is there already is filled as it is, beside a root key', async () => {
  const { room, source, nightly, secret, run, opensThere } = there
  const home = join(room, 'made-by-the-package')
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'root.key'), readFileSync(join(source.home, 'root.key')), { mode: 0o600 })
  const { ino } = statSync(home)
  const restored = await run('restore', nightly, '--home', home, ...secret)
  assert.equal(restored.code, 0, restored.err)
  assert.deepEqual([statSync(home).ino, readdirSync(home).filter((name) => /restor/.test(name))], [ino, []])
  await opensThere(home)
  const withKey = join(room, 'with-key.bak')
  assert.equal((await run('backup', withKey, '--root-key', '--home', source.home, ...secret)).code, 0)
  const other = join(room, 'with-another-key')
  mkdirSync(other)
  writeFileSync(join(other, 'root.key'), 'another one')
  const refused = await run('restore', withKey, '--home', other, ...secret)
  assert.match(refused.err, /root\.key differs from the root key in the backup/)
  assert.deepEqual(readdirSync(other), ['root.key'])
})

test('a restore that was interrupted at its end is finished by the same backup, and nothing starts before', async () => {
  const { room, nightly, secret, run, opensThere } = there
  const home = join(room, 'at-its-end')
  assert.equal((await run('restore', nightly, '--home', home, ...secret)).code, 0)
  // As it was between two renames.
  const staging = join(home, '.restoring')
  mkdirSync(join(staging, 'files'), { recursive: true })
  for (const name of ['kms.db', 'tls']) renameSync(join(home, name), join(staging, 'files', name))
  const digest = createHash('sha256').update(readFileSync(nightly)).digest('hex')
  const told = { madeAt: '2026-01-01T00:00:00.000Z', rootKey: false, files: 1, rows: 1, heads: {} }
  writeFileSync(join(staging, 'complete'), JSON.stringify({ digest, moves: [], told }))
  await assert.rejects(startInstallation({ home }), /a restore into .* was interrupted/)
  const other = join(room, 'another.bak')
  assert.equal((await run('backup', other, '--home', there.source.home, ...secret)).code, 0)
  const refused = await run('restore', other, '--home', home, ...secret)
  assert.match(refused.err, /contains the almost complete restore of another backup \(of 2026-01-01/)
  const finished = await run('restore', nightly, '--home', home, ...secret)
  assert.equal(finished.code, 0, finished.err)
  await opensThere(home)
})

/** Restores the nightly backup in this process; `onRow` puts something in the way. */
async function restoreWith(
  home: string,
  databases: Readonly<Partial<Record<'auth' | 'kms', string>>>,
  onRow: () => void,
) {
  const { nightly, secret } = there
  return restore({
    source: createReadStream(nightly),
    unlock: readUnlock(secret[1], undefined, {}),
    requireSender: async () => undefined,
    outsideHome: false,
    home,
    now: Date.now(),
    env: {},
    databases,
    onRow,
  })
}

test('a restore that fails between its last renames keeps everything, and is finished by the next one', async () => {
  const { room, nightly, secret, run, opensThere } = there
  const home = join(room, 'in-the-way')
  const inTheWay = join(home, 'tls', 'of somebody')
  await assert.rejects(
    restoreWith(home, {}, () => void mkdirSync(inTheWay, { recursive: true })),
    { code: 'ENOTEMPTY' },
  )
  await assert.rejects(startInstallation({ home }), /a restore into .* was interrupted/)
  rmSync(inTheWay, { recursive: true })
  const finished = await run('restore', nightly, '--home', home, ...secret)
  assert.equal(finished.code, 0, finished.err)
  await opensThere(home)
})

test('PostgreSQL: a restore that fails when its databases are finished is begun anew by the next one', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const { room, nightly, secret, run, opensThere } = there
  const databases = { auth: await postgres.database(), kms: await postgres.database() }
  const home = join(room, 'no-last-word')
  const inTheWay = join(home, '.restoring', 'complete.new')
  const put = () => void mkdirSync(inTheWay, { recursive: true })
  await assert.rejects(restoreWith(home, databases, put), { code: 'EISDIR' })
  rmSync(inTheWay, { recursive: true })
  const options = ['--auth-database', databases.auth, '--kms-database', databases.kms]
  const again = await run('restore', nightly, '--home', home, ...secret, ...options)
  assert.equal(again.code, 0, again.err)
  await opensThere(home)
})

test('PostgreSQL: two restores at once, and one that was killed between its two databases', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const { room, nightly, secret, run } = there
  const [auth, kms] = [await postgres.database(), await postgres.database()]
  const databases = ['--auth-database', auth, '--kms-database', kms]
  const homes = [join(room, 'pg-first'), join(room, 'pg-second')] as const
  const both = await Promise.all(
    homes.map((home) => run('restore', nightly, '--home', home, ...secret, ...databases)),
  )
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1])
  const [first, second] = both[0]?.code === 0 ? homes : ([homes[1], homes[0]] as const)
  assert.match(
    both.map(({ err }) => err).join(''),
    /another restore into this database is running|is not empty/,
  )
  assert.ok(!existsSync(second))
  // Both databases were finished when the power went, and no service has started on them.
  const at = await restoredAt(auth)
  const staging = join(first, '.restoring')
  for (const name of readdirSync(first)) rmSync(join(first, name), { recursive: true })
  mkdirSync(staging)
  writeFileSync(join(staging, 'restored_at'), String(at + 1))
  const foreign = await run('restore', nightly, '--home', first, ...secret, ...databases)
  assert.match(foreign.err, /the database is not empty/)
  writeFileSync(join(staging, 'restored_at'), String(at))
  const again = await run('restore', nightly, '--home', first, ...secret, ...databases)
  assert.equal(again.code, 0, again.err) // Moved to PostgreSQL and back, every row is what it was.
  const back = join(room, 'from-postgresql-as-it-was.bak')
  assert.equal((await run('backup', back, '--home', first, ...secret)).code, 0)
  const [direct, moved] = [join(room, 'direct'), join(room, 'moved')]
  const sqlite = ['--auth-database', 'sqlite:auth.db', '--kms-database', 'sqlite:kms.db']
  assert.equal((await run('restore', nightly, '--home', direct, ...secret)).code, 0)
  const from = ['--from', join(first, 'backup-signing.pub')]
  assert.equal((await run('restore', back, '--home', moved, ...from, ...sqlite, ...secret)).code, 0)
  for (const name of ['auth.db', 'kms.db'])
    assert.deepEqual(rowsOf(join(moved, name)), rowsOf(join(direct, name)))
})

/** Of all tables but those that say where the rows come from. */
function rowsOf(path: string): Readonly<Record<string, readonly string[]>> {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    const kept = tables
      .map(({ name }) => String(name))
      .filter((name) => !/^(restored_backup|commit_count)$/.test(name))
    return Object.fromEntries(
      kept.map((name) => [
        name,
        db
          .prepare(`SELECT * FROM ${name}`)
          .all()
          .map((row) => inspect(row, { maxArrayLength: null }))
          .sort(),
      ]),
    )
  } finally {
    db.close()
  }
}
