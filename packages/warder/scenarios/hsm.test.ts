import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createSofthsmToken, missingSofthsm, missingTools, type SofthsmToken } from '@warder/pkcs11/testing'
import { startTestPostgres } from '@warder/storage/testing'
import { readCommands, runCommands } from '../testing/guide.ts'
import { type Installation, runWarder, startInstallation, succeed } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

const skip = missingSofthsm
const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
})

function toEnv(softhsm: SofthsmToken): Record<string, string> {
  const { library, label, pinFile } = softhsm
  const hsm = { name: 'main', library, token_label: label, pin_file: pinFile, admins: ['admin'] }
  const { SOFTHSM2_CONF = '' } = softhsm.env
  return { SOFTHSM2_CONF, KMS_WORKERS: '2', KMS_HSM: JSON.stringify(hsm) }
}

function makeHome(softhsm: SofthsmToken): string {
  const home = join(softhsm.folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  return home
}

const data = Buffer.from('attack at dawn').toString('base64url')

// biome-ignore lint/suspicious/noExplicitAny: tests read members of whatever was answered
type Ask = (path: string, json?: object) => Promise<{ readonly status: number; readonly json: any }>

/** Calls of the kms by the first administrator, each on a connection of its own: both workers answer. */
async function asAdmin(warder: Installation): Promise<Ask> {
  const authorization = `Bearer ${await warder.adminToken()}`
  return async (path, json) => {
    const client = warder.client('kms')
    try {
      const body = json === undefined ? {} : { json, method: 'POST' }
      const { status, json: answer } = await client.ask(path, { headers: { authorization }, ...body })
      return { status, json: answer }
    } finally {
      client.close()
    }
  }
}

test('all workers use a key of the HSM through one process of its library, also after a restart', {
  skip,
}, async () => {
  using softhsm = createSofthsmToken()
  const home = makeHome(softhsm)
  const env = toEnv(softhsm)
  let warder = await startInstallation({ home, env })
  let ask = await asAdmin(warder)
  const made = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::first' })
  assert.equal(made.status, 200, JSON.stringify(made.json))
  const use = { kid: 'hsm::main::first', alg: 'dir', enc: 'A256GCM', data }
  const sealed = await Promise.all(Array.from({ length: 12 }, () => ask('/v1/crypto/encrypt', use)))
  for (const { status, json } of sealed) assert.equal(status, 200, JSON.stringify(json))
  const [{ json: jwe } = { json: undefined }] = sealed
  const kms = warder.pid('kms')
  const children = readFileSync(`/proc/${kms}/task/${kms}/children`, 'utf8').trim().split(' ')
  assert.equal(children.length, 1)
  await until('the start of the HSM was logged', () => /the HSM is open/.test(warder.output()))
  assert.equal((await ask('/health')).json.dependencies.hsm.status, 'UP')
  await warder.stop()

  warder = await startInstallation({ home, env })
  ask = await asAdmin(warder)
  const opened = await ask('/v1/crypto/decrypt', jwe)
  assert.equal(opened.json.data, data, JSON.stringify(opened.json))
  const { process: supervisor } = warder
  const path = `/v1/crypto/keys/${encodeURIComponent('hsm::main::first')}`
  const client = warder.client('kms')
  const authorization = `Bearer ${await warder.adminToken()}`
  const deleted = await client.ask(path, { method: 'DELETE', headers: { authorization } })
  client.close()
  assert.equal(deleted.status, 204, deleted.text)
  await until('the key was removed from the HSM', () =>
    /a key was removed from its HSM/.test(warder.output()),
  )
  assert.equal(supervisor.exitCode, null)
  await warder.stop()
})

test('keys of the database are wrapped after a restart with the setting, and after a kill in the middle of it', {
  skip,
}, async () => {
  using softhsm = createSofthsmToken()
  const home = makeHome(softhsm)
  const env = toEnv(softhsm)
  const wrapping = { ...env, KMS_KEY_ENCRYPTION_KEY: 'hsm::main::kek' }
  const early = await runWarder(['check', '--home', home], wrapping)
  assert.match(early.out + early.err, /the wrapping key hsm::main::kek of .* does not exist/)
  let warder = await startInstallation({ home, env })
  let ask = await asAdmin(warder)
  const made = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::kek' })
  assert.equal(made.status, 200, JSON.stringify(made.json))
  const tokens: object[] = []
  for (let count = 0; count < 30; count += 1) {
    const { json } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
    tokens.push((await ask('/v1/crypto/encrypt', { kid: json.kid, alg: 'dir', enc: 'A256GCM', data })).json)
  }
  await warder.stop()
  warder = await startInstallation({ home, env: wrapping })
  ask = await asAdmin(warder)
  const status = async () => (await ask('/v1/crypto/hsms/main/wrapping')).json
  await until('the first keys are wrapped', async () => (await status()).keys[0]?.objects > 0)
  process.kill(warder.pid('kms'), 'SIGKILL')
  await warder.stop()
  warder = await startInstallation({ home, env: wrapping })
  ask = await asAdmin(warder)
  await until('all keys are wrapped', async () => (await status()).check?.state === 'finished')
  const { keys, check } = await status()
  assert.equal(check.failed, 0)
  assert.ok(keys[0].objects >= tokens.length, JSON.stringify(keys))
  for (const token of tokens) assert.equal((await ask('/v1/crypto/decrypt', token)).json.data, data)
  await warder.stop()
})

/** An installation with keys that two keys of the HSM wrap, and its backup. */
async function backUpWrapped(softhsm: SofthsmToken) {
  const home = makeHome(softhsm)
  const { SOFTHSM2_CONF = '' } = softhsm.env
  const env = { SOFTHSM2_CONF }
  const settings = (text: string): void => appendFileSync(join(home, 'kms.toml'), text, { mode: 0o600 })
  const { library, label, pinFile } = softhsm
  const table = { name: 'main', library, token_label: label, pin_file: pinFile }
  settings(`[[hsm]]\nadmins = ["admin"]\n${formatToml(table)}`)
  const first = await startInstallation({ home, env })
  const create = await asAdmin(first)
  const aes = { kty: 'oct', alg: 'A256GCM' }
  for (const name of ['kek', 'payments'])
    assert.equal((await create('/v1/crypto/keys', { ...aes, kid: `hsm::main::${name}` })).status, 200)
  const { json: old } = await create('/v1/crypto/keys', aes)
  await first.stop()

  const before = readFileSync(join(home, 'kms.toml'), 'utf8')
  writeFileSync(join(home, 'kms.toml'), `key_encryption_key = "hsm::main::kek"\n${before}`)
  settings(`[[hsm_wrapping]]\ntags = ["payments"]\n${formatToml({ key: 'hsm::main::payments' })}`)
  const warder = await startInstallation({ home, env })
  const ask = await asAdmin(warder)
  const { json: tagged } = await ask('/v1/crypto/keys', { ...aes, tags: ['payments'] })
  const { json: pair } = await ask('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const wrapping = async () => (await ask('/v1/crypto/hsms/main/wrapping')).json
  await until('all keys are wrapped', async () => (await wrapping()).check?.state === 'finished')
  const kids = [old.kid, tagged.kid]
  const use = (kid: string) => ({ kid, alg: 'dir', enc: 'A256GCM', data })
  const sealed = await Promise.all(kids.map(async (kid) => (await ask('/v1/crypto/encrypt', use(kid))).json))
  const secret = ['--passphrase-file', join(softhsm.folder, 'passphrase')]
  writeFileSync(join(softhsm.folder, 'passphrase'), 'correct horse battery staple\n')
  const file = join(softhsm.folder, 'nightly.backup')
  await succeed(['backup', file, '--home', home, '--root-key', ...secret], env)
  await warder.stop()
  const from = ['--from', join(home, 'backup-signing.pub')]
  return {
    ...{ env, sealed, signing: pair.kid, wrappingKeys: { [old.kid]: 'kek', [tagged.kid]: 'payments' } },
    /** Restores the backup into a new home. @param databases options that name other databases */
    async restore(name: string, databases: readonly string[] = []): Promise<string> {
      const restored = join(softhsm.folder, name)
      await succeed(['restore', file, '--home', restored, ...from, ...secret, ...databases], env)
      copyFileSync(join(home, 'initial-admin-password'), join(restored, 'initial-admin-password'))
      return restored
    },
  }
}

function formatToml(table: Readonly<Record<string, string>>): string {
  const lines = Object.entries(table).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  return lines.join('')
}

test('keys that the HSM wraps open after a restore and a move to PostgreSQL, but not with another HSM', {
  skip,
}, async (t) => {
  using softhsm = createSofthsmToken()
  // It has the label and the PIN, and none of the keys.
  using other = createSofthsmToken(softhsm.label)
  const started: Installation[] = []
  t.after(() => Promise.all(started.map((one) => one.stop())))
  const start = async (home: string, env: Readonly<Record<string, string>>): Promise<Installation> => {
    const warder = await startInstallation({ home, env })
    started.push(warder)
    return warder
  }
  const source = await backUpWrapped(softhsm)
  const requireOpens = async (home: string): Promise<void> => {
    const { SOFTHSM2_CONF = '' } = other.env
    const without = await start(home, { SOFTHSM2_CONF })
    const refused = await asAdmin(without)
    for (const sealed of source.sealed) {
      const { status, json } = await refused('/v1/crypto/decrypt', sealed)
      assert.deepEqual([status, json.error], [422, 'crypto_failure'])
      assert.match(json.description, /^The HSM main does not have the key: it was deleted there/)
    }
    await without.stop()

    const warder = await start(home, source.env)
    const ask = await asAdmin(warder)
    for (const sealed of source.sealed)
      assert.equal((await ask('/v1/crypto/decrypt', sealed)).json.data, data)
    const signed = (await ask('/v1/crypto/sign', { kid: source.signing, alg: 'ES256', data })).json
    assert.equal((await ask('/v1/crypto/verify', { ...signed, data })).json.valid, true)
    for (const [kid, key] of Object.entries(source.wrappingKeys))
      assert.equal((await ask(`/v1/crypto/keys/${kid}`)).json.wrapping_key, `hsm::main::${key}`)
    // The HSM unwraps and wraps all of them. It has the versions of every restored database.
    const rotated = await ask(`/v1/crypto/keys/${encodeURIComponent('hsm::main::kek')}/rotate`, {})
    assert.equal(rotated.status, 200, JSON.stringify(rotated.json))
    const wrapping = async () => (await ask('/v1/crypto/hsms/main/wrapping')).json
    const isDone = async () => {
      const { check, keys } = await wrapping()
      const names = keys.map(({ kid }: { kid: string }) => kid)
      return check.state === 'finished' && !names.includes('hsm::main::kek')
    }
    await until('all keys are wrapped with the new version', isDone)
    assert.equal((await wrapping()).check.failed, 0)
    for (const sealed of source.sealed)
      assert.equal((await ask('/v1/crypto/decrypt', sealed)).json.data, data)
    await warder.stop()
  }
  await t.test('a restore on SQLite', async () => requireOpens(await source.restore('restored')))
  await t.test(
    'a move to PostgreSQL',
    {
      skip: 'missing' in postgres && postgres.missing,
    },
    async () => {
      if ('missing' in postgres) return
      const [auth, kms] = [await postgres.database(), await postgres.database()]
      await requireOpens(await source.restore('moved', ['--auth-database', auth, '--kms-database', kms]))
    },
  )
})

test('a wrong PIN is tried once for all workers, other keys are used, and the corrected PIN opens the HSM', {
  skip,
}, async () => {
  using softhsm = createSofthsmToken()
  const home = makeHome(softhsm)
  const env = toEnv(softhsm)
  const first = await startInstallation({ home, env })
  const before = await asAdmin(first)
  assert.equal(
    (await before('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::k' })).status,
    200,
  )
  await first.stop()
  writeFileSync(softhsm.pinFile, 'wrong-pin')
  const checked = await runWarder(['check', '--home', home], env)
  assert.match(checked.out + checked.err, /the HSM main cannot be used: .* refuses the PIN of /)
  const warder = await startInstallation({ home, env })
  const ask = await asAdmin(warder)
  const use = { kid: 'hsm::main::k', alg: 'dir', enc: 'A256GCM', data }
  for (let attempt = 0; attempt < 6; attempt += 1) {
    const refused = await ask('/v1/crypto/encrypt', use)
    assert.deepEqual([refused.status, refused.json.error], [503, 'hsm_unavailable'])
    assert.match(refused.json.description, /^The HSM main cannot be used: its PIN is refused; /)
  }
  const shown = softhsm.run('pkcs11-tool', '--module', softhsm.library, '--list-slots')
  assert.doesNotMatch(shown, /final user PIN try|user PIN locked/)
  const { json: here } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal((await ask('/v1/crypto/encrypt', { ...use, kid: here.kid })).status, 200)
  assert.deepEqual(
    [(await ask('/health')).status, (await ask('/health')).json.dependencies.hsm.status],
    [200, 'DOWN'],
  )
  writeFileSync(softhsm.pinFile, softhsm.pin)
  await until('the key can be used', async () => (await ask('/v1/crypto/encrypt', use)).status === 200)
  await warder.stop()
})

test('a token that is away, and a killed process of the library, are 503 for its keys alone, and pass', {
  skip,
}, async () => {
  using softhsm = createSofthsmToken()
  const warder = await startInstallation({ home: makeHome(softhsm), env: toEnv(softhsm) })
  const ask = await asAdmin(warder)
  const { json: here } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::k' })
  const use = { kid: 'hsm::main::k', alg: 'dir', enc: 'A256GCM', data }
  const kms = warder.pid('kms')
  const library = Number(readFileSync(`/proc/${kms}/task/${kms}/children`, 'utf8').trim())
  process.kill(library, 'SIGKILL')
  await until('the key can be used again', async () => {
    const { status, json } = await ask('/v1/crypto/encrypt', use)
    if (status !== 200) assert.equal(json.error, 'hsm_unavailable')
    return status === 200
  })
  const tokens = join(softhsm.folder, 'tokens')
  renameSync(tokens, `${tokens}.away`)
  const away = await ask('/v1/crypto/encrypt', use)
  assert.equal(away.status, 503, JSON.stringify(away.json))
  assert.match(away.json.description, /^The HSM main cannot be used: /)
  assert.equal((await ask('/v1/crypto/encrypt', { ...use, kid: here.kid })).status, 200)
  renameSync(`${tokens}.away`, tokens)
  await until('the key can be used again', async () => (await ask('/v1/crypto/encrypt', use)).status === 200)
  await warder.stop()
})

test('a library that hangs is replaced, and delays no request for another key', { skip }, async () => {
  using softhsm = createSofthsmToken()
  const warder = await startInstallation({ home: makeHome(softhsm), env: toEnv(softhsm) })
  const ask = await asAdmin(warder)
  const { json: here } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::k' })
  const use = { kid: 'hsm::main::k', alg: 'dir', enc: 'A256GCM', data }
  const kms = warder.pid('kms')
  process.kill(Number(readFileSync(`/proc/${kms}/task/${kms}/children`, 'utf8').trim()), 'SIGSTOP')
  let answered = 0
  const hanging = Promise.all(
    Array.from({ length: 20 }, async () => {
      const { status, json } = await ask('/v1/crypto/encrypt', use)
      answered += 1
      assert.deepEqual([status, json.error], [503, 'hsm_unavailable'])
    }),
  )
  for (let count = 0; count < 20; count += 1)
    assert.equal((await ask('/v1/crypto/encrypt', { ...use, kid: here.kid })).status, 200)
  assert.equal(answered, 0)
  await hanging
  await until('the key can be used again', async () => (await ask('/v1/crypto/encrypt', use)).status === 200)
  await warder.stop()
})

test('the settings of a deployed server start its HSM, and keys are named by slot', { skip }, async () => {
  using softhsm = createSofthsmToken()
  if (softhsm.library !== '/usr/lib/softhsm/libsofthsm2.so') return
  const slot = /Slot (\d+)/.exec(softhsm.run('softhsm2-util', '--show-slots'))?.[1] ?? ''
  const home = makeHome(softhsm)
  const { SOFTHSM2_CONF = '' } = softhsm.env
  const settings = `hsm_model = "softhsm2"\nhsm_admin = "admin"\nhsm_slot = [${slot}]\nhsm_password = ["${softhsm.pin}"]\n`
  writeFileSync(join(home, 'kms.toml'), settings, { mode: 0o600 })
  const warder = await startInstallation({ home, env: { SOFTHSM2_CONF } })
  const ask = await asAdmin(warder)
  const kid = `hsm::${slot}::theirs`
  assert.equal((await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid })).status, 200)
  assert.equal((await ask('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).status, 200)
  const { json } = await ask('/server-info')
  assert.deepEqual(json.hsm_instances, [
    { prefix: `hsm::${slot}`, model: 'softhsm2', slots: [{ slot_id: Number(slot), accessible: true }] },
  ])
  const shown = await runWarder(['config', 'show', '--home', home])
  assert.ok(!shown.out.includes(softhsm.pin))
  assert.match(shown.out, /kms\.hsm_password = "\[secret\]"/)
  await warder.stop()
})

test('the commands of the pages on keys in an HSM and on such keys over transit work', {
  skip: skip || missingTools('pkcs11-tool', 'curl', 'sed'),
}, async () => {
  const page = 'docs/how-to/hsm-keys.md'
  using softhsm = createSofthsmToken('warder')
  const { library, folder, pinFile } = softhsm
  const home = makeHome(softhsm)
  const replace = (text: string): string =>
    text.replaceAll('/usr/lib/softhsm/libsofthsm2.so', library).replaceAll('/etc/warder/pin', pinFile)
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const [, settings = ''] = /```toml\n([\s\S]*?)```/.exec(text) ?? []
  const { SOFTHSM2_CONF = '' } = softhsm.env
  appendFileSync(join(home, 'kms.toml'), replace(settings), { mode: 0o600 })
  const warder = await startInstallation({ home, env: { SOFTHSM2_CONF, KMS_TRANSIT_ENABLED: 'true' } })
  const env = { SOFTHSM2_CONF, WARDER_HOME: home, WARDER_TOKEN: await warder.adminToken() }
  const run = await runCommands(readCommands(page).map(replace), folder, env)
  assert.equal(run.status, 0, run.text)
  for (const line of [
    /^in the HSM +main$/m,
    /^hardware +yes: generated in the HSM, always sensitive, never extractable$/m,
    /^backup#1 .* never extractable, generated there /m,
    /^old +0a1b +EC .*not registered$/m,
    /^hsm::main::old {2}EC, never outside of the HSM$/m,
    /^old +0a1b .*hsm::main::old$/m,
  ])
    assert.match(run.text, line)
  const [variables = ''] = readCommands('docs/start/kms.md')
  const transit = await runCommands(
    [variables.replace(/^(H|AUTH|KMS)=.*$/gm, ''), ...readCommands('docs/how-to/transit.md')],
    folder,
    { ...env, H: home, AUTH: warder.authUrl, KMS: warder.kmsUrl },
  )
  assert.equal(transit.status, 0, transit.text)
  assert.match(transit.text, /"name":"payments",.*"hsm":"main","hardware":true/)
  assert.match(transit.text, /"name":"backup",.*"latest_version":2,.*"hsm":"main"/)
  await warder.stop()
})
