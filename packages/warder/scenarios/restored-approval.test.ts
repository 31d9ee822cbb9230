import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { tailAudit } from '@warder/audit'
import { startTestPostgres } from '@warder/storage/testing'
import { main } from '../main.ts'
import { logInUser, newUser, runInProcess } from '../testing/in-process.ts'
import { type Installation, startInstallation } from '../testing/installation.ts'

// Backup, restore, refused, approved, works: the policy is that of the backup.

const room = mkdtempSync(join(tmpdir(), 'warder-restored-'))
const postgres = await startTestPostgres()
const passphraseFile = join(room, 'passphrase')
const nightly = join(room, 'nightly.backup')
const secret = ['--passphrase-file', passphraseFile] as const
const source = { home: join(room, 'source'), password: '', kid: '' }
const running: Installation[] = []

async function run(...words: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env: { XDG_CONFIG_HOME: join(room, 'config') },
  }
  const code = await main(words, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

async function start(home: string): Promise<Installation> {
  const started = await startInstallation({ home })
  running.push(started)
  return started
}

before(async () => {
  writeFileSync(passphraseFile, randomBytes(24).toString('base64url'))
  const first = await start(source.home)
  source.password = first.password
  for (const name of ['ben', 'cid']) await newUser(first, name)
  const token = await first.adminToken()
  const made = await runInProcess(first, ['keys', 'create', '--alg', 'A256GCM', '--json'], { token })
  source.kid = JSON.parse(made.out).kid
  await first.stop()
  appendFileSync(
    join(source.home, 'kms.toml'),
    `\n[roles]\ncrypto_officer_users = ["admin", "ben", "cid"]\n[approvals]\noperations = ["restore_backup"]\ncredential_wait = 0\n`,
  )
  const second = await start(source.home)
  const backup = await run('backup', nightly, '--home', source.home, ...secret)
  assert.equal(backup.code, 0, backup.err)
  await second.stop()
})
after(async () => {
  for (const warder of running) if (warder.process.exitCode === null) await warder.stop()
  if (!('missing' in postgres)) await postgres.stop()
  rmSync(room, { recursive: true, force: true })
})

/** Restores the backup and puts beside it what its operator has: the root key. */
async function restored(home: string, ...more: readonly string[]): Promise<void> {
  const done = await run('restore', nightly, '--home', home, '--accept-new-sender', ...secret, ...more)
  assert.equal(done.code, 0, done.err)
  cpSync(join(source.home, 'root.key'), join(home, 'root.key'))
  writeFileSync(join(home, 'initial-admin-password'), source.password)
}

const show = (warder: Installation, token: string) =>
  runInProcess(warder, ['keys', 'show', source.kid], { token })
const kmip = (warder: Installation) => run('kmip', 'query', '--home', warder.home)

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  test(`${engine}: what was restored serves neither REST nor KMIP before two of three officers approve it`, {
    skip: engine === 'PostgreSQL' && 'missing' in postgres && postgres.missing,
  }, async () => {
    const home = join(room, engine)
    const urls = 'missing' in postgres ? [] : [await postgres.database(), await postgres.database()]
    const places = ['--auth-database', urls[0] ?? '', '--kms-database', urls[1] ?? '']
    await restored(home, ...(engine === 'PostgreSQL' ? places : []))
    // Whoever may write the settings does not take the policy out.
    const settings = readFileSync(join(home, 'kms.toml'), 'utf8')
    writeFileSync(join(home, 'kms.toml'), settings.replace('["restore_backup"]', '[]'))
    await assert.rejects(
      start(home),
      /differ from those of the restored backup, which requires the approval of 2 of/,
    )
    writeFileSync(join(home, 'kms.toml'), settings)

    const warder = await start(home)
    const digest = createHash('sha256').update(readFileSync(nightly)).digest('hex')
    const id =
      /no requests are served until the crypto officers approve: warder officers approve ([\w-]+)/.exec(
        warder.output(),
      )?.[1]
    assert.ok(id, warder.output())
    const admin = await logInUser(warder, 'admin', source.password)
    const tokens = { admin, ben: '', cid: '' }
    for (const name of ['ben', 'cid'] as const)
      tokens[name] = await logInUser(warder, name, `the password of ${name}`)
    const officers = (user: keyof typeof tokens, ...words: string[]) =>
      runInProcess(warder, ['officers', ...words], { token: tokens[user] })
    const why = /restored from a backup of 20.*serves no requests until its crypto officers approve/
    assert.match((await show(warder, admin)).err, why)
    assert.match((await kmip(warder)).out, why)
    assert.match(
      (await officers('ben', 'requests')).out,
      new RegExp(`release the restore of 20.*SHA-256 ${digest}`),
    )
    const voted = await officers('ben', 'approve', id, '--yes')
    assert.match(voted.out, /^open: 1 of 2/, voted.err)
    assert.match((await kmip(warder)).out, why)
    assert.match((await officers('cid', 'approve', id, '--yes')).out, /^done: 2 of 2/)
    assert.match((await show(warder, admin)).out, new RegExp(source.kid))
    assert.equal((await kmip(warder)).code, 0)
    await warder.stop()
    const log = await run('audit', 'verify', '--home', home)
    assert.equal(log.code, 0, log.out + log.err)
    const records: string[] = []
    const written = tailAudit({ folder: join(home, 'audit', 'kms'), format: 'json', lines: 1000 })
    for await (const line of written) records.push(JSON.parse(line).operation)
    for (const operation of ['access.restore_held', 'database.restored', 'access.approvals.approve'])
      assert.ok(records.includes(operation), operation)
    const again = await start(home)
    assert.match((await show(again, await again.adminToken())).out, new RegExp(source.kid))
    await again.stop()
  })
}

test('a drill opens the keys and lets somebody log in, and uses none of them', async () => {
  const passwordFile = join(room, 'password')
  writeFileSync(passwordFile, source.password)
  const login = ['--user', 'admin', '--password-file', passwordFile]
  const drilled = await run('drill', nightly, '--home', source.home, ...secret, ...login)
  assert.equal(drilled.code, 0, drilled.err + drilled.out)
  assert.match(
    drilled.out,
    /keys {8}\d+ decrypted[\s\S]*approval {4}the restored kms waits for its officers[\s\S]*admin logged in:[\s\S]*chain/,
  )
})

test('a backup of which a byte was changed restores nothing that could be started', async () => {
  const bytes = readFileSync(nightly)
  const changed = join(room, 'changed.backup')
  const home = join(room, 'from-changed')
  for (const part of [0.25, 0.75, 1]) {
    const at = Math.min(bytes.length - 1, Math.floor(bytes.length * part))
    const other = Buffer.from(bytes)
    other.writeUInt8(other.readUInt8(at) ^ 1, at)
    writeFileSync(changed, other)
    const refused = await run('restore', changed, '--home', home, '--accept-new-sender', ...secret)
    assert.deepEqual([refused.code, existsSync(home)], [1, false], `at ${at}: ${refused.err}`)
  }
})
