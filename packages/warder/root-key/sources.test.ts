import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findBackupSources } from '../backup/backup-sources.ts'
import { readCommands, runCommands } from '../testing/guide.ts'
import {
  type Installation,
  killAfter,
  runWarder,
  startInstallation,
  succeed,
} from '../testing/installation.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-sources-'))
// The commands on shares are tested in shares.test.ts.
const [setUp = '', ...moveAndShow] = readCommands('docs/how-to/root-key.md').filter(
  (block) => !/shares|age-keygen/.test(block),
)

/** Another Warder, whose transit key wraps root keys. */
let keys: Installation
let transit: Readonly<Record<string, string>>
before(async () => {
  const env = { KMS_TRANSIT_ENABLED: 'true', KMS_VAULT_API_ENABLED: 'true' }
  keys = await startInstallation({ env })
  const made = await runCommands([`${setUp}\necho "ROLE=$ROLE"`], folder, { WARDER_HOME: keys.home })
  assert.equal(made.status, 0, made.text)
  const roleId = /^ROLE=(\S+)$/m.exec(made.text)?.[1] ?? ''
  transit = forBoth({
    ROOT_KEY_TRANSIT_URL: keys.kmsUrl,
    ROOT_KEY_TRANSIT_KEY: 'warder@admin',
    ROOT_KEY_TRANSIT_CA_FILE: keys.caFile,
    ROOT_KEY_TRANSIT_ROLE_ID: roleId,
    ROOT_KEY_TRANSIT_SECRET_ID_FILE: join(folder, 'secret-id'),
  })
})
after(async () => {
  await keys.stop()
  rmSync(folder, { recursive: true, force: true })
})

function forBoth(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings)
  return Object.fromEntries(
    ['AUTH', 'KMS'].flatMap((name) => entries.map(([key, value]) => [`${name}_${key}`, value])),
  )
}

interface Reply {
  readonly kid: string
  readonly mac: string
  readonly dependencies?: Readonly<Record<string, unknown>>
}

async function ask(
  warder: Installation,
  service: 'auth' | 'kms',
  path: string,
  json?: unknown,
): Promise<Reply> {
  const token = await warder.adminToken()
  const client = warder.client(service)
  try {
    const headers = service === 'auth' ? { cookie: `_ea_=${token}` } : { authorization: `Bearer ${token}` }
    const { status, text, json: reply } = await client.ask(path, { json, headers } as never)
    assert.ok(status < 300, `${path}: ${status} ${text}`)
    return (reply ?? {}) as Reply
  } finally {
    client.close()
  }
}

const makeHome = (name: string): string => {
  const home = join(folder, name)
  mkdirSync(home, { mode: 0o700 })
  return home
}

const newKey = (): string =>
  `${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}\n`

/** Starts the installation and stops it. @returns its output, and the MAC by its one key */
async function runOnce(home: string, env: Readonly<Record<string, string>>) {
  const warder = await startInstallation({ home, env })
  const note = join(home, 'kid')
  if (!existsSync(note))
    writeFileSync(note, (await ask(warder, 'kms', '/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).kid)
  const { mac } = await ask(warder, 'kms', '/v1/crypto/mac', {
    kid: readFileSync(note, 'utf8'),
    alg: 'HS256',
    data: 'eA',
  })
  const { dependencies } = await ask(warder, 'kms', '/health')
  await warder.stop()
  return { mac, output: warder.output(), health: dependencies?.root_key }
}

test('a backup without the root key contains no credential that unwraps it', () => {
  const home = makeHome('backed-up')
  const env = forBoth({
    ROOT_KEY_TRANSIT_ROLE_ID: 'role',
    ROOT_KEY_TRANSIT_SECRET_ID_FILE: 'secret-id',
    ROOT_KEY_AWS_CREDENTIALS_FILE: 'aws',
    ROOT_KEY_AZURE_CLIENT_SECRET_FILE: 'azure',
  })
  const isKept = (rootKey: boolean, name: string): boolean =>
    findBackupSources(home, env, { rootKey, audit: false }).isKept(join(home, name))
  assert.deepEqual([isKept(false, 'secret-id'), isKept(true, 'secret-id')], [false, true])
  for (const name of ['aws', 'azure'])
    assert.deepEqual([isKept(false, name), isKept(true, name)], [false, true])
  assert.deepEqual([isKept(false, 'root.key'), isKept(false, 'kms.toml')], [false, true])
})

test('an installation whose root key is a systemd credential starts, checks and rotates', async () => {
  const [home, credentials] = [makeHome('systemd'), join(folder, 'credentials')]
  mkdirSync(credentials)
  const env = { ...forBoth({ ROOT_KEY_SOURCE: 'systemd' }), CREDENTIALS_DIRECTORY: credentials }
  const check = await runWarder(['check', '--home', home], env)
  assert.match(check.err, /systemd passed no credential root\.key/)
  writeFileSync(join(credentials, 'root.key'), newKey(), { mode: 0o400 })
  await runOnce(home, env)
  await succeed(['check', '--home', home], env)
  writeFileSync(join(credentials, 'root.key.new'), newKey(), { mode: 0o400 })
  await succeed(['root-key', 'rotate', '--home', home], env)
  const refused = await runWarder(['check', '--home', home], env)
  assert.match(refused.out + refused.err, /wrong root key: .*credentials\/root\.key/)
  renameSync(join(credentials, 'root.key.new'), join(credentials, 'root.key'))
  await succeed(['check', '--home', home], env)
})

test('a root key moves from a file to transit and back; a kill at each step leaves databases that open', async () => {
  const home = makeHome('moved')
  const fromFile = { ...transit }
  const fromTransit = { ...transit, ...forBoth({ ROOT_KEY_SOURCE: 'transit' }) }
  const { mac } = await runOnce(home, fromFile)
  const tested = await succeed(['root-key', 'test', '--to', 'transit', '--home', home], fromFile)
  assert.match(tested, /^auth .*transit\/warder@admin: a random value[\s\S]*^kms /m)

  const toTransit = ['root-key', 'move', '--to', 'transit', '--home', home]
  for (const step of ['auth new key', 'auth wrapped', 'kms new key', 'kms wrapped']) {
    await killAfter(step, toTransit, fromFile)
    const shown = await succeed(['root-key', 'show', '--home', home], fromFile)
    assert.equal(shown.match(/usable {3}yes/g)?.length, 2, `${step}\n${shown}`)
  }
  assert.match(await succeed(toTransit, fromFile), /set root_key_source = "transit"/)
  const stale = await runWarder(['check', '--home', home], fromFile)
  const moved =
    /kms database was moved to transit \(https:\S+ transit\/warder@admin\) at 2\S+: set root_key_source = "transit"/
  assert.match(stale.out + stale.err, moved)
  rmSync(join(home, 'root.key'))
  const lost = await runWarder(['check', '--home', home], fromFile)
  assert.match(lost.out + lost.err, /moved to transit|root key \S+ does not exist/)
  assert.equal((await runOnce(home, fromTransit)).mac, mac)
  await succeed(['root-key', 'rotate', '--home', home], fromTransit)
  await succeed(['check', '--home', home], fromTransit)

  const toFile = ['root-key', 'move', '--to', 'file', '--home', home]
  for (const step of ['next written', 'auth wrapped', 'kms wrapped']) {
    await killAfter(step, toFile, fromTransit)
    const shown = await succeed(['root-key', 'show', '--home', home], fromTransit)
    assert.equal(shown.match(/usable {3}yes/g)?.length, 2, `${step}\n${shown}`)
  }
  await succeed(['check', '--home', home], fromFile)
  // The last kill may have come after the file got its name.
  const again = await runWarder(toFile, fromTransit)
  assert.ok(again.code === 0 || again.err.includes('in file already'), again.err)
  assert.ok(!existsSync(join(home, 'root.key.next')))
  const there = await runWarder(toFile, fromTransit)
  assert.match(there.err, /the root key is in file already/)
  const old = await runWarder(['check', '--home', home], fromTransit)
  assert.match(
    old.out + old.err,
    /root_key_source is transit, but the root key of the kms database is in file \(/,
  )
  assert.equal((await runOnce(home, fromFile)).mac, mac)
})

test('a new installation begins with transit, and a start without its server, key or credential names it', async () => {
  const home = makeHome('first')
  const env = { ...transit, ...forBoth({ ROOT_KEY_SOURCE: 'transit' }) }
  const refuse = async (more: Readonly<Record<string, string>>, message: RegExp): Promise<void> => {
    const { out, err } = await runWarder(['check', '--home', home], { ...env, ...forBoth(more) })
    assert.match(out + err, message)
  }
  const exposed = join(folder, 'exposed')
  writeFileSync(exposed, 'secret\n')
  chmodSync(exposed, 0o644)
  await refuse(
    { ROOT_KEY_TRANSIT_SECRET_ID_FILE: exposed },
    /secret_id_file: \S+ can be read by others \(mode 0644\)/,
  )
  await refuse(
    { ROOT_KEY_TRANSIT_TOKEN_FILE: exposed },
    /requires root_key_transit\.token_file, or root_key_transit\.role_id/,
  )
  await refuse({ ROOT_KEY_TRANSIT_URL: 'http://vault.example' }, /must be an address like https/)
  const { mac, output, health } = await runOnce(home, env)
  assert.match(output, /"root_key":"https:\/\/\S+ transit\/warder@admin"/)
  assert.deepEqual(health, { name: 'transit', status: 'UP' })
  assert.equal((await runOnce(home, env)).mac, mac)
  assert.ok(!existsSync(join(home, 'root.key')))
  const file = join(folder, 'first.backup')
  const passphrase = join(folder, 'passphrase')
  writeFileSync(passphrase, 'correct horse battery staple\n', { mode: 0o600 })
  writeFileSync(join(home, 'kms.toml'), 'root_key_source = "transit"\n')
  writeFileSync(join(home, 'auth.toml'), 'root_key_source = "transit"\n')
  const secret = ['--passphrase-file', passphrase, '--home', home]
  await succeed(['backup', file, ...secret], env)
  assert.match(
    await succeed(['drill', file, ...secret], env),
    /keys {8}1 decrypted[\s\S]*the drill was successful/,
  )
  await refuse(
    { ROOT_KEY_TRANSIT_KEY: 'absent@admin' },
    /refused transit\/decrypt\/absent%40admin with 400: encryption key not found/,
  )
  await refuse(
    { ROOT_KEY_TRANSIT_URL: 'https://127.0.0.1:9' },
    /https:\/\/127\.0\.0\.1:9 transit\/warder@admin cannot be used: .*ECONNREFUSED/,
  )
  const away = startInstallation({
    home,
    env: { ...env, ...forBoth({ ROOT_KEY_TRANSIT_URL: 'https://127.0.0.1:9' }) },
  })
  await assert.rejects(
    away,
    /cannot be used: .*ECONNREFUSED.*\(5 attempts\); without it the root key stays wrapped/,
  )
  await ask(keys, 'kms', '/v1/transit/keys/other', { type: 'aes256-gcm96' })
  const grant = { unique_identifier: 'alias/transit/other', user_id: 'app:root' }
  await ask(keys, 'kms', '/access/grant', { ...grant, operation_types: ['encrypt', 'decrypt'] })
  await refuse({ ROOT_KEY_TRANSIT_KEY: 'other@admin' }, /refused transit\/decrypt\/other%40admin with 400/)
})

test('a root key that a KMIP server wraps opens its databases, moves to transit, and its server, key and files are named', async () => {
  const home = makeHome('kmip')
  const { kmip } = JSON.parse(readFileSync(join(keys.home, 'endpoints.json'), 'utf8'))
  const { kid } = await ask(keys, 'kms', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const grant = { unique_identifier: kid, user_id: 'kmip-client', operation_types: ['encrypt', 'decrypt'] }
  await ask(keys, 'kms', '/access/grant', grant)
  const settings = {
    ROOT_KEY_KMIP_SERVER: `${kmip.host}:${kmip.port}`,
    ROOT_KEY_KMIP_KEY_ID: kid,
    ROOT_KEY_KMIP_CERT_FILE: join(keys.home, 'tls', 'client.crt'),
    ROOT_KEY_KMIP_KEY_FILE: join(keys.home, 'tls', 'client.key'),
    ROOT_KEY_KMIP_CA_FILE: keys.caFile,
  }
  const env = { ...transit, ...forBoth({ ...settings, ROOT_KEY_SOURCE: 'kmip' }) }
  const tested = await succeed(['root-key', 'test', '--home', home], env)
  assert.match(tested, /^auth {2}kmip:\/\/\S+ \S+: a random value was wrapped and unwrapped$/m)
  const { mac } = await runOnce(home, env)
  const shown = await succeed(['root-key', 'show', '--home', home], env)
  assert.match(shown, /^kms {3}kmip\n {6}where {4}kmip:\/\/[\s\S]*usable {3}yes$/m)
  const refuse = async (more: Readonly<Record<string, string>>, message: RegExp): Promise<void> => {
    const { out, err } = await runWarder(['check', '--home', home], { ...env, ...forBoth(more) })
    assert.match(out + err, message)
  }
  await refuse({ ROOT_KEY_KMIP_KEY_ID: 'absent' }, /refused Decrypt with ItemNotFound/)
  await refuse(
    { ROOT_KEY_KMIP_SERVER: '127.0.0.1:9' },
    /kmip:\/\/127\.0\.0\.1:9 \S+ cannot be used: .*ECONNREFUSED/,
  )
  await refuse({ ROOT_KEY_KMIP_SERVER: 'vault' }, /must be HOST:PORT like/)
  const exposed = join(folder, 'exposed.key')
  writeFileSync(exposed, readFileSync(settings.ROOT_KEY_KMIP_KEY_FILE))
  chmodSync(exposed, 0o644)
  await refuse({ ROOT_KEY_KMIP_KEY_FILE: exposed }, /root_key_kmip\.key_file: \S+ can be read by others/)
  const other = await ask(keys, 'kms', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  await ask(keys, 'kms', '/access/grant', { ...grant, unique_identifier: other.kid })
  await refuse({ ROOT_KEY_KMIP_KEY_ID: other.kid }, /refused Decrypt with \w+/)
  const commands = moveAndShow.map((block) => block.replaceAll('/var/lib/warder', home))
  assert.equal(commands.length, 2)
  const moved = await runCommands(commands, folder, env)
  assert.equal(moved.status, 0, moved.text)
  assert.match(moved.text, /set root_key_source = "transit"[\s\S]*^kms {3}transit$[\s\S]*usable {3}yes$/m)
  assert.equal((await runOnce(home, { ...env, ...forBoth({ ROOT_KEY_SOURCE: 'transit' }) })).mac, mac)
})
