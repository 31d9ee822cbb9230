import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartupError } from '@warder/base'
import { serviceNames } from '@warder/command-line/endpoints'
import { createMetrics } from '@warder/runtime'
import type { ServiceLaunch } from '@warder/runtime/launch'
import { beginStart, loadDefinition, prepareService } from '@warder/runtime/testing'
import fc from 'fast-check'
import { config } from '../config/command.ts'
import { getSettings } from '../installation/services.ts'
import { configureBoth, configureTogether, requireTogether } from '../installation/together.ts'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { check } from './command.ts'

const home = temporaryHome()
/** Any free ports: tests run beside each other. */
const freePorts = { AUTH_PORT: '0', KMS_PORT: '0', KMS_SOCKET_SERVER_PORT: '0' }

before(async () => {
  const warder = await startInstallation({ home })
  assert.equal(await warder.stop(), 0)
})
after(() => rmSync(home, { recursive: true, force: true }))

interface Checked {
  readonly code: number
  readonly err: string
}

async function checkIn(folder: string, env: Readonly<Record<string, string>> = {}): Promise<Checked> {
  const err: string[] = []
  const terminal = {
    out: () => undefined,
    err: (line: string) => void err.push(line),
    env: { ...freePorts, ...env },
  }
  try {
    const code = await check.run(['--home', folder], terminal)
    assert.equal(await config.run(['check', '--home', folder], { ...terminal, err: () => undefined }), code)
    return { code, err: err.join('\n') }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return { code: 1, err: error.message }
  }
}

test('what the start gives the kms beside auth counts for the check, too', async () => {
  const fresh = temporaryHome()
  try {
    writeFileSync(join(fresh, 'kms.toml'), 'vault_api_enabled = true\nclients_ca_cert_file = "tls/ca.crt"\n')
    const { code, err } = await checkIn(fresh)
    assert.equal(code, 0, err)
    assert.deepEqual(readdirSync(fresh), ['kms.toml'], 'the check writes nothing')
    const warder = await startInstallation({ home: fresh })
    assert.equal((await warder.client('kms').ask('/health')).status, 200)
    await warder.stop()
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
})

test('an auth.toml of the operator does not keep the kms from the keys of session tokens', async () => {
  const fresh = temporaryHome()
  try {
    writeFileSync(join(fresh, 'auth.toml'), '[admin_password_policy]\nminimum_length = 12\n')
    assert.equal((await checkIn(fresh)).code, 0)
    const weak = await checkIn(fresh, { WARDER_ADMIN_PASSWORD: 'short' })
    assert.equal(weak.code, 1)
    assert.match(weak.err, /WARDER_ADMIN_PASSWORD: must have at least 12 characters/)
    const warder = await startInstallation({ home: fresh })
    assert.equal((await warder.client('kms').ask('/health')).status, 200)
    await warder.stop()
    writeFileSync(join(fresh, 'auth.toml'), 'publish_session_jwks = false\n')
    const line = /publish_session_jwks is false \(file\), but the kms verifies session tokens with the keys/
    assert.match((await checkIn(fresh)).err, line)
    const started = await runWarder(['start', '--home', fresh], freePorts)
    assert.equal(started.code, 1)
    assert.match(started.err, line)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
})

/** Values that texts and lists of settings may have, right and wrong ones; an index chooses. */
const texts = [
  ...['tls/ca.crt', 'tls/auth.crt', 'tls/auth.key', 'none.pem', 'root.key', 'auth.toml', 'sqlite:other.db'],
  ...['https://idp.example', 'https://127.0.0.1:9', 'http://h', 'file:none.json', 'published', '_', 'admin'],
  ...[
    'alice',
    'settings',
    '10.0.0.0/8',
    'AES',
    'a,b',
    'CUSTOM',
    'tag:a=7',
    'https://idp.example,file:none',
    '1',
  ],
] as const

/** They open ports, wait for a database, or have to do with the time that a test takes. */
const leftOut = /^(host|port|metrics_port|database_|log_level|workers|node_name|watchdog|drain|.*hostname)/

type Table = ReturnType<typeof getSettings>

/** A value of the type of a setting, as TOML. */
function tomlValue(setting: Table[string], choice: number): string {
  const text = texts[choice % texts.length] ?? ''
  const { choices, min = 0, max = 100 } = setting
  if (choices !== undefined && choice % 4 > 0) return JSON.stringify(choices[choice % choices.length])
  if (setting.type === 'boolean') return choice % 3 === 0 ? 'false' : 'true'
  if (setting.type === 'integer') return String([min, max, Math.min(max, min + 3)][choice % 3])
  if (setting.type !== 'list') return JSON.stringify(text)
  return JSON.stringify([text, texts[(choice >> 3) % texts.length]].slice(0, 1 + (choice % 2)))
}

function settingsFile(name: (typeof serviceNames)[number]): fc.Arbitrary<string> {
  const table = getSettings(name)
  const keys = Object.keys(table).filter((key) => !leftOut.test(key))
  const line = fc.tuple(fc.constantFrom(...keys), fc.nat(10_000))
  return fc.uniqueArray(line, { selector: ([key]) => key, maxLength: 3 }).map((lines) =>
    lines
      .flatMap(([key, choice]) => {
        const setting = table[key]
        return setting === undefined ? [] : [`${key} = ${tomlValue(setting, choice)}\n`]
      })
      .join(''),
  )
}

/** Both services go through their starts to the point where they would listen. @returns why one is refused */
async function startRefusal(env: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    const { auth, kms, authUrl } = configureTogether(configureBoth(home, env), env, { auth: 1, kms: 2 })
    await requireTogether(auth, kms, authUrl)
    for (const { launch } of [auth, kms]) await prepare({ ...launch, env })
    return undefined
  } catch (error) {
    if (error instanceof StartupError) return error.message
    throw error
  }
}

async function prepare(launch: ServiceLaunch): Promise<void> {
  const opened = new AsyncDisposableStack()
  try {
    const { environment } = await prepareService(await beginStart(launch, opened))
    const definition = await loadDefinition(launch)
    const instance = await definition.build({
      ...environment,
      metrics: createMetrics(),
      baseUrl: 'https://127.0.0.1:2',
    })
    await instance.close?.()
  } finally {
    await opened.disposeAsync()
  }
}

test('for a hundred settings files the check refuses what a start refuses, and changes nothing', async () => {
  const env = { AUTH_LOG_LEVEL: 'error', KMS_LOG_LEVEL: 'error', WARDER_ADMIN_PASSWORD: 'first password' }
  const kept = serviceNames.map((name) => readFileSync(join(home, `${name}.toml`), 'utf8'))
  const verdicts = { accepted: 0, refused: 0 }
  const both = fc.tuple(settingsFile('auth'), settingsFile('kms'))
  try {
    await fc.assert(
      fc.asyncProperty(both, async (files) => {
        for (const [index, name] of serviceNames.entries())
          writeFileSync(join(home, `${name}.toml`), files[index] ?? '')
        const files0 = readdirSync(home, { recursive: true }).sort()
        const { code, err } = await checkIn(home, env)
        assert.deepEqual(readdirSync(home, { recursive: true }).sort(), files0, 'the check writes nothing')
        const refusal = await startRefusal({ ...freePorts, ...env })
        assert.equal(code !== 0, refusal !== undefined, `check: ${err}; start: ${refusal}`)
        verdicts[code === 0 ? 'accepted' : 'refused'] += 1
      }),
      { numRuns: 100 },
    )
  } finally {
    for (const [index, name] of serviceNames.entries())
      writeFileSync(join(home, `${name}.toml`), kept[index] ?? '')
  }
  assert.ok(verdicts.accepted > 10 && verdicts.refused > 10, JSON.stringify(verdicts))
})

test('a database, a root key and a port that a start refuses are refused by the check', async () => {
  const file = join(home, 'root.key')
  const key = readFileSync(file)
  writeFileSync(file, Buffer.alloc(32, 7).toString('base64url'))
  try {
    const { code, err } = await checkIn(home)
    assert.equal(code, 1)
    assert.match(err, /auth: wrong root key: .*root\.key.*kms: wrong root key/s)
  } finally {
    writeFileSync(file, key)
  }
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  const { port } = holder.address() as { port: number }
  try {
    const taken = await checkIn(home, { KMS_PORT: String(port) })
    assert.match(taken.err, /kms \(KMS_PORT\): cannot listen on .*: the port is in use/)
  } finally {
    holder.close()
  }
  assert.match((await checkIn(home, { AUTH_HOST: '203.0.113.9' })).err, /this machine has no such address/)
  for (const name of ['kms.db', 'kms.db-wal', 'kms.db-shm']) rmSync(join(home, name), { force: true })
  const missing = await checkIn(home)
  assert.equal(missing.code, 1)
  assert.match(missing.err, /kms: the database .*kms\.db is missing or empty, but the audit log/)
})

test('an audit folder that was lost is refused by the check with the sentence of the start', async () => {
  const other = temporaryHome()
  try {
    assert.equal(await (await startInstallation({ home: other })).stop(), 0)
    assert.equal((await checkIn(other)).code, 0)
    const aside = join(other, 'moved')
    renameSync(join(other, 'audit', 'kms'), aside)
    const { code, err } = await checkIn(other)
    assert.equal(code, 1)
    const sentence =
      /kms: the audit log in \S+kms is missing, but the database recorded \d+ records\..*--accept-rollback/
    assert.match(err, sentence)
    assert.ok(!existsSync(join(other, 'audit', 'kms')), 'the check makes no folder')
    const refused = await runWarder(['start', '--home', other])
    assert.ok(refused.err.includes(sentence.exec(err)?.[0] ?? 'no sentence'), refused.err)
    rmSync(join(other, 'audit', 'kms'), { recursive: true, force: true })
    renameSync(aside, join(other, 'audit', 'kms'))
    assert.equal((await checkIn(other)).code, 0)
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

test('an OpenID provider that cannot be reached is warned of, with the setting that permits its address', async () => {
  const oidc = { UI_OIDC_ISSUER_URL: 'https://127.0.0.1:9', UI_OIDC_CLIENT_ID: 'warder' }
  const fresh = temporaryHome()
  try {
    const { code, err } = await checkIn(fresh, oidc)
    assert.equal(code, 0, 'a start goes on without the provider')
    assert.match(
      err,
      /warning: ui_config\.ui_oidc_auth\.ui_oidc_issuer_url: the OpenID provider https:\/\/127/,
    )
    assert.match(err, /not a public address; outbound_allow_private_networks = true permits such addresses/)
    const allowed = await checkIn(fresh, { ...oidc, KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true' })
    assert.match(allowed.err, /cannot be used: connect ECONNREFUSED/)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
})
