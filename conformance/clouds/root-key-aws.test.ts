import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startTestPostgres } from '@warder/storage/testing'
import { killAfter, runWarder, startInstallation, temporaryHome } from 'warder/testing'
import { findMissingMoto, type Moto, startMoto } from './moto.ts'

const missing = findMissingMoto()
const skip = missing ?? false
const postgres = skip === false ? await startTestPostgres() : { missing: String(skip) }

const folder = temporaryHome()
after(() => rmSync(folder, { recursive: true, force: true }))

let moto: Moto
/** Settings of both services. */
let settings: Readonly<Record<string, string>>
let credentials = ''
let role = ''
if (skip === false) {
  before(async () => {
    moto = await startMoto()
    const key = await moto.createKey()
    const user = await moto.createUser('warder')
    role = await moto.createRole('warder-role')
    credentials = join(folder, 'credentials')
    writeCredentials(user.secret, user.id)
    await moto.enforce(true)
    // moto removes its own when it stops.
    const caFile = join(folder, 'ca.crt')
    copyFileSync(moto.caFile, caFile)
    settings = forBoth({
      ROOT_KEY_AWS_KEY: key,
      ROOT_KEY_AWS_ENDPOINT: moto.url,
      ROOT_KEY_AWS_STS_ENDPOINT: moto.url,
      ROOT_KEY_AWS_CA_FILE: caFile,
      ROOT_KEY_AWS_CREDENTIALS_FILE: credentials,
    })
    restore = () => writeCredentials(user.secret, user.id)
  })
  after(async () => {
    await moto.stop()
    if ('stop' in postgres) await postgres.stop()
  })
}
let restore: () => void

function writeCredentials(secret: string, id: string): void {
  const text = `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`
  writeFileSync(credentials, text, { mode: 0o600 })
}

function forBoth(members: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(members)
  return Object.fromEntries(
    ['AUTH', 'KMS'].flatMap((name) => entries.map(([key, value]) => [`${name}_${key}`, value])),
  )
}

const fromAws = (): Record<string, string> => ({ ...settings, ...forBoth({ ROOT_KEY_SOURCE: 'aws-kms' }) })

function makeHome(name: string): string {
  const home = join(folder, name)
  mkdirSync(home, { mode: 0o700 })
  return home
}

async function runOnce(home: string, env: Readonly<Record<string, string>>): Promise<string> {
  const warder = await startInstallation({ home, env })
  await warder.stop()
  return warder.output()
}

async function run(words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const { code, out, err } = await runWarder(words, env)
  assert.equal(code, 0, out + err)
  return out
}

async function refuse(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  message: RegExp,
): Promise<void> {
  const { code, out, err } = await runWarder(words, env)
  assert.notEqual(code, 0)
  assert.match(out + err, message)
}

test('a root key moves from a file to AWS KMS and back; a kill at each step leaves databases that open', {
  skip,
}, async () => {
  const home = makeHome('moved')
  const at = ['--home', home]
  const fromFile = { ...settings }
  await runOnce(home, fromFile)
  const tested = await run(['root-key', 'test', '--to', 'aws-kms', ...at], fromFile)
  assert.match(
    tested,
    /^auth {2}https:\S+ arn:aws:kms:eu-central-1:\S+: a random value was wrapped and unwrapped$/m,
  )
  writeCredentials('wrong', 'AKIAWRONG')
  await refuse(['root-key', 'test', '--to', 'aws-kms', ...at], fromFile, /https:\S+ refused Encrypt with /)
  restore()

  const moves = async (to: string, env: Record<string, string>, steps: readonly string[]): Promise<void> => {
    for (const step of steps) {
      await killAfter(step, ['root-key', 'move', '--to', to, ...at], env)
      const shown = await run(['root-key', 'show', ...at], env)
      assert.equal(shown.match(/usable {3}yes/g)?.length, 2, `${step}\n${shown}`)
    }
    const { code, out, err } = await runWarder(['root-key', 'move', '--to', to, ...at], env)
    // The last kill may have come after the last step was done.
    assert.ok(code === 0 || err.includes(`in ${to} already`), out + err)
  }
  await moves('aws-kms', fromFile, ['auth new key', 'auth wrapped', 'kms new key', 'kms wrapped'])
  await refuse(
    ['check', ...at],
    fromFile,
    /was moved to aws-kms \(https:\S+ arn:aws:kms\S+\) at 2\S+: set root_key_source = "aws-kms"/,
  )
  rmSync(join(home, 'root.key'), { force: true })
  assert.match(await runOnce(home, fromAws()), /"root_key":"https:\/\/\S+ arn:aws:kms/)
  await run(['root-key', 'rotate', ...at], fromAws())
  const shown = await run(['root-key', 'show', ...at], fromAws())
  assert.match(shown, /^kms {3}aws-kms\n {6}where {4}https:\S+ arn:aws:kms[\s\S]*usable {3}yes$/m)

  await moves('file', fromAws(), ['next written', 'auth wrapped', 'kms wrapped'])
  assert.ok(existsSync(join(home, 'root.key')))
  await runOnce(home, fromFile)
})

test('a new installation begins with a role that AWS STS gives for a web identity', { skip }, async () => {
  const home = makeHome('first')
  const token = join(folder, 'web-identity')
  writeFileSync(token, 'token\n')
  // moto gives credentials of a role only to signed requests once it verifies signatures.
  await moto.enforce(false)
  const {
    AUTH_ROOT_KEY_AWS_CREDENTIALS_FILE: _,
    KMS_ROOT_KEY_AWS_CREDENTIALS_FILE: __,
    ...others
  } = fromAws()
  const env = { ...others, AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: role }
  await runOnce(home, env)
  assert.ok(!existsSync(join(home, 'root.key')))
  await run(['check', '--home', home], env)
  await moto.enforce(true)
})

test('two nodes with homes of their own open one PostgreSQL database, each with its own access to AWS KMS', {
  skip: 'missing' in postgres ? postgres.missing : false,
}, async (t) => {
  assert.ok('database' in postgres)
  const env = {
    ...fromAws(),
    AUTH_DATABASE_URL: await postgres.database(),
    KMS_DATABASE_URL: await postgres.database(),
  }
  const first = await startInstallation({ home: makeHome('one'), env })
  t.after(() => first.stop())
  const second = await startInstallation({
    home: makeHome('two'),
    env: { ...env, WARDER_ADMIN_PASSWORD: first.password },
  })
  t.after(() => second.stop())
  for (const node of [first, second]) {
    const { status, json } = await node.client('kms').ask('/health')
    assert.equal(status, 200)
    assert.deepEqual((json as { dependencies: { root_key: unknown } }).dependencies.root_key, {
      name: 'aws-kms',
      status: 'UP',
    })
  }
})

// The last test: moto does not come back.
test('without AWS KMS a running service continues, and a start names it', { skip }, async (t) => {
  const home = makeHome('away')
  const env = fromAws()
  const warder = await startInstallation({ home, env })
  t.after(() => warder.stop())
  await moto.stop()
  const token = await warder.adminToken()
  const { status } = await warder.client('kms').ask('/v1/crypto/keys', {
    json: { kty: 'oct', alg: 'HS256' },
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(status, 200)
  await refuse(
    ['root-key', 'show', '--home', home],
    env,
    /usable {3}no: root_key_source: https:\S+ arn:aws:kms\S+ cannot be used: .*ECONNREFUSED/,
  )
})
