import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runWarder, startInstallation } from '../testing/installation.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-sources-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const makeHome = (name: string): string => {
  const home = join(folder, name)
  mkdirSync(home, { mode: 0o700 })
  return home
}

const newKey = (): string =>
  `${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}\n`

test('an installation whose root key is a systemd credential starts, checks and rotates', async () => {
  const [home, credentials] = [makeHome('systemd'), join(folder, 'credentials')]
  mkdirSync(credentials)
  const env = {
    AUTH_ROOT_KEY_SOURCE: 'systemd',
    KMS_ROOT_KEY_SOURCE: 'systemd',
    CREDENTIALS_DIRECTORY: credentials,
  }
  const check = await runWarder(['check', '--home', home], env)
  assert.match(check.err, /systemd passed no credential root\.key/)
  writeFileSync(join(credentials, 'root.key'), newKey(), { mode: 0o400 })
  await (await startInstallation({ home, env })).stop()
  assert.equal((await runWarder(['check', '--home', home], env)).code, 0)
  writeFileSync(join(credentials, 'root.key.new'), newKey(), { mode: 0o400 })
  const rotated = await runWarder(['root-key', 'rotate', '--home', home], env)
  assert.equal(rotated.code, 0, rotated.err)
  const refused = await runWarder(['check', '--home', home], env)
  assert.match(refused.out + refused.err, /wrong root key: .*credentials\/root\.key/)
  renameSync(join(credentials, 'root.key.new'), join(credentials, 'root.key'))
  assert.equal((await runWarder(['check', '--home', home], env)).code, 0)
})
