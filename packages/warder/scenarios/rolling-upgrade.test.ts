import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestPostgres } from '@warder/foundation/sql/testing'
import { type Installation, startInstallation, temporaryHome, until } from '../testing/index.ts'

// WARDER_OLD_RELEASE names a checkout, or an unpacked package, of the version before: its node goes on while one of this
// version starts, migrates the databases and serves beside it.

const release = process.env.WARDER_OLD_RELEASE
const postgres =
  release === undefined ? { missing: 'WARDER_OLD_RELEASE is not set' } : await startTestPostgres()

const data = Buffer.from('attack at dawn').toString('base64url')

/** Somebody who is logged in at a node. */
async function user(node: Installation) {
  const headers = { authorization: `Bearer ${await node.adminToken()}` }
  const client = node.client('kms')
  const ask = async (path: string, json: object) => {
    const { status, text } = await client.ask(path, { json, headers })
    assert.equal(status, 200, `${path} ${text}`)
    return JSON.parse(text)
  }
  return {
    create: async () => (await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).kid as string,
    encrypt: (kid: string) => ask('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }),
    decrypt: async (jwe: object) => (await ask('/v1/crypto/decrypt', jwe)).data as string,
    close: () => client.close(),
  }
}

test('a node of the version before and one of this version work on one database', {
  skip: 'missing' in postgres ? postgres.missing : false,
}, async (t) => {
  assert.ok('database' in postgres && release !== undefined)
  const env = {
    AUTH_DATABASE_URL: await postgres.database(),
    KMS_DATABASE_URL: await postgres.database(),
    WARDER_ADMIN_PASSWORD: 'a long first password',
  }
  const homes = [temporaryHome(), temporaryHome()] as const
  t.after(async () => {
    await postgres.stop()
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  })
  const program = join(release, 'packages', 'warder', 'bin', 'warder.mjs')
  const old = await startInstallation({ home: homes[0], env, program })
  cpSync(join(homes[0], 'root.key'), join(homes[1], 'root.key'))
  const before = await user(old)
  const sealed = await before.encrypt(await before.create())
  let rounds = 0
  let stopping = false
  const load = (async () => {
    while (!stopping) {
      const kid = await before.create()
      assert.equal(await before.decrypt(await before.encrypt(kid)), data)
      assert.equal(await before.decrypt(sealed), data)
      rounds += 1
    }
  })()
  const current = await startInstallation({ home: homes[1], env })
  const now = await user(current)
  assert.equal(await now.decrypt(sealed), data)
  assert.equal(await before.decrypt(await now.encrypt(await before.create())), data)
  assert.equal(await now.decrypt(await before.encrypt(await now.create())), data)
  const later = await user(old)
  assert.equal(await later.decrypt(sealed), data)
  const seen = rounds
  await until('the old node goes on', () => rounds > seen + 10)
  stopping = true
  await load
  for (const one of [before, now, later]) one.close()
  assert.deepEqual([await old.stop(), await current.stop()], [0, 0])
})
