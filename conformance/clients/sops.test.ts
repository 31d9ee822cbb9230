import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { canRun, runProgram } from './run-program.ts'
import { startTransit } from './vault-transit.ts'

const program = process.env.WARDER_SOPS ?? 'sops'
const skip = canRun(program, ['--version'], {})
  ? false
  : 'sops is not here: install it, or set WARDER_SOPS to the program'

test('sops encrypts a file under a key of the transit interface, and opens it after a rotation (issue 20)', {
  skip,
}, async () => {
  const { warder, token } = await startTransit()
  const folder = mkdtempSync(join(tmpdir(), 'warder-sops-'))
  const kms = warder.client('kms')
  try {
    const headers = { 'X-Vault-Token': token }
    const make = (path: string) => kms.ask(`/v1/transit/keys/${path}`, { json: {}, headers })
    assert.equal((await make('files')).status, 200)
    const plain = join(folder, 'secrets.json')
    writeFileSync(plain, '{"password": "attack at dawn"}')
    const env = {
      VAULT_TOKEN: token,
      VAULT_CACERT: warder.caFile,
      HOME: folder,
      SOPS_DISABLE_VERSION_CHECK: '1',
    }
    const key = ['--hc-vault-transit', `${warder.kmsUrl}/v1/transit/keys/files`]
    const sealed = await runProgram(program, ['--encrypt', ...key, plain], { env })
    assert.equal(sealed.code, 0, sealed.err)
    const text = sealed.out.toString('utf8')
    assert.match(text, /vault:v1:/)
    assert.doesNotMatch(text, /attack at dawn/)
    const file = join(folder, 'sealed.json')
    writeFileSync(file, text)
    assert.equal((await make('files/rotate')).status, 200)
    const opened = await runProgram(program, ['--decrypt', file], { env })
    assert.equal(opened.code, 0, opened.err)
    assert.deepEqual(JSON.parse(opened.out.toString('utf8')), JSON.parse(readFileSync(plain, 'utf8')))
  } finally {
    kms.close()
    rmSync(folder, { recursive: true, force: true })
    await warder.stop()
  }
})
