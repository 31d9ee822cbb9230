import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createAgeIdentity } from '@warder/crypto/testing'
import { startTestPostgres } from '@warder/storage/testing'
import { killAfter, runWarder, startInstallation, succeed } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-recovery-'))
const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Env = Readonly<Record<string, string>>
const holders = ['anna', 'ben', 'carl'].map((name) => ({ name, ...createAgeIdentity() }))
const list = join(folder, 'holders.txt')
writeFileSync(list, holders.map(({ name, recipient }) => `${name} ${recipient}`).join('\n'))

/** Starts the installation, and stops it once its audit log has a record. @returns a key, and the MAC by it */
async function runOnce(home: string, env: Env, kid?: string, recorded = /./) {
  const warder = await startInstallation({ home, env })
  const client = warder.client('kms')
  try {
    const headers = { authorization: `Bearer ${await warder.adminToken()}` }
    const ask = async (path: string, json: unknown) => (await client.ask(path, { json, headers })).json as Env
    const key = kid ?? (await ask('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).kid ?? ''
    const { mac } = await ask('/v1/crypto/mac', { kid: key, alg: 'HS256', data: 'eA' })
    assert.ok(mac !== undefined)
    await until('the records are in the audit log', async () => recorded.test(await records(home, env)))
    return { kid: key, mac }
  } finally {
    client.close()
    await warder.stop()
  }
}

const records = (home: string, env: Env) => succeed(['audit', 'export', '--home', home], env)

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(`on ${engine} a recovery set opens databases whose source is lost, after rotations, and is recorded`, {
    skip: engine === 'PostgreSQL' && 'missing' in postgres && postgres.missing,
  }, async () => {
    const home = join(folder, engine)
    mkdirSync(home, { mode: 0o700 })
    const databases: Env =
      engine === 'SQLite' || 'missing' in postgres
        ? {}
        : { AUTH_DATABASE_URL: await postgres.database(), KMS_DATABASE_URL: await postgres.database() }
    const env = { ...databases, WARDER_ADMIN_PASSWORD: 'a password of admins' }
    const { kid, mac } = await runOnce(home, env)
    const output = join(folder, `shares ${engine}`)
    const create = ['root-key', 'recovery', 'create', '--home', home, '--holders', list, '--threshold', '2']
    const words = [...create, '--output', output, '--name', 'test']
    const decrypt = (before: readonly string[]): readonly string[] =>
      holders.map(({ name, decrypt: open }) => {
        const file = readdirSync(output).find((one) => one.endsWith(`-${name}.age`) && !before.includes(one))
        return open(readFileSync(join(output, file ?? ''), 'utf8')).toString()
      })
    const show = async (): Promise<string> => (await runWarder(['root-key', 'show', '--home', home], env)).out
    assert.match(await show(), /recovery none: if the source is lost, nothing opens the database/)
    assert.match((await runWarder([...words.with(-5, '9')], env)).err, /threshold must be 2 to 3/)
    await killAfter('auth recoverable', words, env)
    const unfinished = readdirSync(output)
    const made = await succeed(words, env)
    assert.match(made, /2 of 3 shares of set \w{8} of test open both databases, also after rotations/)
    const first = decrypt(unfinished)
    assert.match(await show(), /recovery 2 of anna, ben, carl, set \w{8} of test, since/)
    await succeed(['root-key', 'rotate', '--home', home], env)
    assert.equal((await runOnce(home, env, kid, /root_key\.recovery_created/)).mac, mac)

    const before = readdirSync(output)
    await succeed(words, env)
    const shares = decrypt(before)
    renameSync(join(home, 'root.key'), join(home, '..', `root.key.lost ${engine}`))
    const refused = await runWarder(['start', '--home', home], env)
    assert.match(refused.out + refused.err, /the root key \S+root\.key does not exist/)
    const recover = ['root-key', 'recover', '--to', 'file', '--home', home]
    assert.match((await runWarder(recover, env)).err, /0 of the 2 that are needed were entered/)
    assert.match(
      (await runWarder(recover, env, first.join(''))).err,
      /0 of the 2/,
      'shares of the set before',
    )
    for (const step of ['next written', 'auth wrapped', 'kms wrapped'])
      await killAfter(step, recover, env, shares.slice(0, 2).join(''))
    await succeed(recover, env, shares.slice(1).join(''))
    assert.equal((await runOnce(home, env, kid, /root_key\.recovered/)).mac, mac)
    const log = await records(home, env)
    assert.match(log, /"holders":\["anna","ben","carl"\][^\n]*"operation":"root_key\.recovery_created"/)
    assert.match(log, /"holders":\["\w+","\w+"\][^\n]*"to":"file"[^\n]*"operation":"root_key\.recovered"/)
    assert.doesNotMatch(log, /warder-share-1/)

    const key = Buffer.alloc(32, 7).toString('base64url')
    const moved = { ...env, WARDER_ROOT_KEY: key }
    await succeed(['root-key', 'move', '--to', 'environment', '--home', home], moved)
    const elsewhere = { ...env, AUTH_ROOT_KEY_SOURCE: 'environment', KMS_ROOT_KEY_SOURCE: 'environment' }
    await succeed(
      ['root-key', 'recover', '--to', 'environment', '--home', home],
      {
        ...elsewhere,
        WARDER_ROOT_KEY: Buffer.alloc(32, 8).toString('base64url'),
      },
      shares.join(''),
    )
    const last = { ...elsewhere, WARDER_ROOT_KEY: Buffer.alloc(32, 8).toString('base64url') }
    assert.equal((await runOnce(home, last, kid)).mac, mac)
  })
