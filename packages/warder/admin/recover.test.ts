import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { codeAt, fromBase32 } from '@warder/auth/testing'
import { startTestPostgres } from '@warder/storage/testing'
import { logInUser } from '../testing/in-process.ts'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

const home = temporaryHome()
const postgres = await startTestPostgres()
after(async () => {
  rmSync(home, { recursive: true, force: true })
  if (!('missing' in postgres)) await postgres.stop()
})

const recover = (...more: string[]) => runWarder(['admin', 'recover', '--home', home, '--yes', ...more])

async function recoveries(): Promise<readonly Record<string, unknown>[]> {
  const { out } = await runWarder(['audit', 'export', '--home', home, '--operation', 'admin.recovered'])
  const lines = out.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('a locked-out administrator gets a new password on the machine itself, while the services run', async () => {
  let warder = await startInstallation({ home })
  try {
    const old = await logInUser(warder, 'admin', warder.password)
    const { code, out, err } = await recover()
    assert.equal(code, 0, err)
    assert.match(out, /^the administrator admin has a new password; their sessions have ended$/m)
    const password = /^password: (\S+) /m.exec(out)?.[1] ?? ''
    await logInUser(warder, 'admin', password)
    await assert.rejects(logInUser(warder, 'admin', warder.password), 'the old password is none any more')
    const auth = warder.client('auth')
    const sessions = await auth.ask('/admins/realms', { headers: { cookie: `_ea_=${old}` } })
    auth.close()
    assert.equal(sessions.status, 401, 'the sessions of before have ended')
    await until('the record is in the audit log', async () => (await recoveries()).length === 1)
    await warder.stop()

    const file = join(home, 'chosen-password')
    writeFileSync(file, 'a password that was chosen')
    const again = await recover('--new-password-file', file, '--keep-password', '--remove-totp')
    assert.equal(again.code, 0, again.err)
    assert.doesNotMatch(again.out, /shown once|chosen/)
    warder = await startInstallation({ home })
    await logInUser(warder, 'admin', 'a password that was chosen')
    const found = await recoveries()
    assert.equal(found.length, 2, 'the next start records it')
    for (const { outcome, object, realm } of found)
      assert.deepEqual({ outcome, object, realm }, { outcome: 'success', object: 'admin', realm: '_' })
    assert.doesNotMatch(JSON.stringify(found), new RegExp(`${password}|was chosen`))
  } finally {
    await warder.stop()
  }
})

test('on PostgreSQL, recovery keeps an enrolled second factor until --remove-totp removes it', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const own = temporaryHome()
  const env = { AUTH_DATABASE_URL: await postgres.database(), KMS_DATABASE_URL: await postgres.database() }
  const warder = await startInstallation({ home: own, env })
  const auth = warder.client('auth')
  try {
    const again = (...more: string[]) => runWarder(['admin', 'recover', '--home', own, '--yes', ...more], env)
    const passwordIn = (out: string): string => /^password: (\S+) /m.exec(out)?.[1] ?? ''
    const first = await again('--keep-password')
    assert.equal(first.code, 0, first.err)
    const cookie = `_ea_=${await logInUser(warder, 'admin', passwordIn(first.out))}`
    const ask = (path: string, json: object) => auth.ask(path, { json, headers: { cookie } })
    const made = await ask('/realms/_/totp/generate?realm=_', { username: 'admin', issuer: 'Warder' })
    assert.equal(made.status, 200, made.text)
    const { secret_base32: secret, otpauth_url: url } = made.json as Record<string, string>
    const parameters = new URL(url ?? '').searchParams
    const step = Math.floor(Date.now() / 1000 / Number(parameters.get('period') ?? 30))
    const algorithm = (parameters.get('algorithm') ?? 'SHA1') as 'SHA1'
    const computeCode = (each: number) => codeAt(fromBase32(secret ?? '') ?? Buffer.alloc(0), each, algorithm)
    const token = computeCode(step)
    const proof = { username: 'admin', issuer: 'Warder', secret, token }
    const enrolled = await ask('/realms/_/totp/verify?realm=_', proof)
    assert.equal(enrolled.status, 200, enrolled.text)
    const kept = await again()
    assert.equal(kept.code, 0, kept.err)
    await assert.rejects(logInUser(warder, 'admin', passwordIn(kept.out)), 'the second factor stays')
    const logIn = async (totp_code: string) => {
      const basic = Buffer.from(`admin:${passwordIn(kept.out)}`).toString('base64')
      const headers = { authorization: `Basic ${basic}` }
      const { status, json } = await auth.ask('/login?realm=_', { json: { totp_code }, headers })
      return [status, (json as { next_step?: string }).next_step]
    }
    assert.deepEqual(await logIn(token), [401, undefined], 'the code of the enrolment is used up')
    assert.deepEqual(await logIn(computeCode(step + 1)), [200, 'Authenticated'])
    const removed = await again('--remove-totp')
    assert.equal(removed.code, 0, removed.err)
    await logInUser(warder, 'admin', passwordIn(removed.out))
  } finally {
    auth.close()
    await warder.stop()
    rmSync(own, { recursive: true, force: true })
  }
})

test('recovery needs a known administrator, a database and the root key', async () => {
  assert.match((await recover('nobody')).err, /there is no administrator nobody/)
  const empty = join(home, 'empty')
  mkdirSync(empty)
  const none = await runWarder(['admin', 'recover', '--home', empty, '--yes'])
  assert.match(none.err, /the database .*auth\.db does not exist/)
  const key = join(home, 'root.key')
  rmSync(key)
  assert.match((await recover()).err, /the root key .* does not exist/)
  writeFileSync(key, Buffer.alloc(32, 1).toString('base64url'), { mode: 0o600 })
  assert.match((await recover()).err, /wrong root key/)
})
