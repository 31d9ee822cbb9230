import assert from 'node:assert/strict'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startTestPostgres } from '@warder/storage/testing'
import { type Installation, startInstallation, temporaryHome } from '../testing/installation.ts'

// The kms learns from auth which issuers session tokens have.

const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
})

async function statusAtKms(warder: Installation, token: string): Promise<number> {
  const kms = warder.client('kms')
  try {
    return (await kms.ask('/me', { headers: { authorization: `Bearer ${token}` } })).status
  } finally {
    kms.close()
  }
}

test('an issuer in auth.toml works at once, and so does another one after auth was started again', async () => {
  const home = temporaryHome()
  const warder = await startInstallation({ home, env: { AUTH_ISSUER: 'https://login.example' } })
  const token = await warder.adminToken()
  const { iss } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    iss: string
  }
  assert.equal(iss, 'https://login.example')
  assert.equal(await statusAtKms(warder, token), 200, warder.output())
  assert.equal(await warder.stop(), 0)
  const settings = 'publish_session_jwks = true\nissuer = "https://other.example"\n'
  writeFileSync(join(home, 'auth.toml'), settings, { mode: 0o600 })
  const again = await startInstallation({ home })
  assert.equal(await statusAtKms(again, await again.adminToken()), 200, again.output())
  assert.equal(await statusAtKms(again, token), 200, 'a session of before goes on')
  assert.equal(await again.stop(), 0)
  rmSync(home, { recursive: true })
})

test('an issuer that is configured for the kms is the only one', async () => {
  const warder = await startInstallation({ env: { KMS_AUTH_VERIFIER_ISSUER: 'https://login.example' } })
  assert.equal(await statusAtKms(warder, await warder.adminToken()), 401)
  assert.equal(await warder.stop(), 0)
})

test('two nodes on one database accept the sessions of each other', {
  skip: 'missing' in postgres && postgres.missing,
}, async () => {
  if ('missing' in postgres) return
  const env = {
    AUTH_DATABASE_URL: await postgres.database(),
    KMS_DATABASE_URL: await postgres.database(),
    WARDER_ADMIN_PASSWORD: 'a password of two nodes',
  }
  const homes = [temporaryHome(), temporaryHome()] as const
  const first = await startInstallation({ home: homes[0], env })
  copyFileSync(join(homes[0], 'root.key'), join(homes[1], 'root.key'))
  const second = await startInstallation({ home: homes[1], env })
  const tokens = [await first.adminToken(), await second.adminToken()]
  for (const node of [first, second])
    for (const token of tokens) assert.equal(await statusAtKms(node, token), 200, node.output())
  assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0])
  for (const home of homes) rmSync(home, { recursive: true })
})
