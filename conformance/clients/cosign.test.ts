import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { canRun, runProgram } from './run-program.ts'
import { startTransit } from './vault-transit.ts'

const program = process.env.WARDER_COSIGN ?? 'cosign'
const skip = canRun(program, ['version'], {})
  ? false
  : 'cosign is not here: install it, or set WARDER_COSIGN to the program'

test('cosign signs and verifies with a key of the transit interface (hashivault, issue 20)', {
  skip,
}, async () => {
  const { warder, token } = await startTransit()
  const folder = mkdtempSync(join(tmpdir(), 'warder-cosign-'))
  const kms = warder.client('kms')
  try {
    const headers = { 'X-Vault-Token': token }
    const made = await kms.ask('/v1/transit/keys/release', { json: { type: 'ecdsa-p256' }, headers })
    assert.equal(made.status, 200)
    const [file, signature] = [join(folder, 'app'), join(folder, 'app.sig')]
    writeFileSync(file, 'attack at dawn')
    const env = { VAULT_ADDR: warder.kmsUrl, VAULT_TOKEN: token, VAULT_CACERT: warder.caFile, HOME: folder }
    const key = ['--key', 'hashivault://release']
    const offline = ['--tlog-upload=false', '--yes', '--output-signature', signature]
    const signed = await runProgram(program, ['sign-blob', ...key, ...offline, file], { env })
    assert.equal(signed.code, 0, signed.err)
    const verify = ['verify-blob', ...key, '--insecure-ignore-tlog=true', '--signature', signature]
    assert.equal((await runProgram(program, [...verify, file], { env })).code, 0)
    writeFileSync(file, 'attack at dusk')
    assert.notEqual((await runProgram(program, [...verify, file], { env })).code, 0)
  } finally {
    kms.close()
    rmSync(folder, { recursive: true, force: true })
    await warder.stop()
  }
})
