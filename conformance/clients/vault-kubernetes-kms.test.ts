import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiServer } from '../../packages/warder/kubernetes/testing/api-server.ts'
import { startWithMachineRole } from './machine-role.ts'
import { canRun } from './run-program.ts'

const program = process.env.WARDER_VAULT_KUBERNETES_KMS ?? 'vault-kubernetes-kms'
const skip = canRun(program, ['-version'], {})
  ? false
  : 'vault-kubernetes-kms is not here: install it, or set WARDER_VAULT_KUBERNETES_KMS to the program'

/** Asks until the plugin serves. */
async function untilServing(kubernetes: ApiServer, plugin: ChildProcess, output: () => string) {
  for (;;) {
    try {
      return await kubernetes.call('Status', {}, 5000)
    } catch (error) {
      if (plugin.exitCode !== null) throw new Error(`the plugin ended:\n${output()}`, { cause: error })
    }
  }
}

test('the KMS plugin of Kubernetes for Vault encrypts with a key of the transit interface, over rotations (issue 20)', {
  skip,
}, async () => {
  const { warder, roleId, secretId } = await startWithMachineRole({
    KMS_TRANSIT_ENABLED: 'true',
    KMS_VAULT_API_ENABLED: 'true',
  })
  const folder = mkdtempSync(join(tmpdir(), 'warder-vault-kms-'))
  const [kms, auth] = [warder.client('kms'), warder.client('auth')]
  const socket = join(folder, 'kms.sock')
  let plugin: ChildProcess | undefined
  const kubernetes = new ApiServer(socket)
  try {
    const json = { role_id: roleId, secret_id: secretId }
    const login = await auth.ask('/v1/auth/approle/login', { json })
    const headers = { 'X-Vault-Token': String(JSON.parse(login.text).auth.client_token) }
    const made = await kms.ask('/v1/transit/keys/kubernetes', { json: { type: 'aes256-gcm96' }, headers })
    assert.equal(made.status, 200)
    let output = ''
    plugin = spawn(program, [], {
      env: {
        PATH: process.env.PATH,
        VAULT_KMS_VAULT_ADDR: warder.kmsUrl,
        VAULT_KMS_VAULT_CACERT: warder.caFile,
        VAULT_KMS_SOCKET: `unix://${socket}`,
        VAULT_KMS_AUTH_METHOD: 'approle',
        VAULT_KMS_APPROLE_ROLE_ID: roleId,
        VAULT_KMS_APPROLE_SECRET_ID: secretId,
        VAULT_KMS_TRANSIT_KEY: 'kubernetes',
        VAULT_KMS_HEALTH_PORT: '0',
      },
    })
    for (const stream of [plugin.stdout, plugin.stderr])
      stream?.on('data', (text: Buffer) => {
        output += text.toString()
      })
    const status = await untilServing(kubernetes, plugin, () => output)
    assert.equal(status.healthz, 'ok', output)
    const secret = randomBytes(32)
    const sealed = await kubernetes.call('Encrypt', { plaintext: secret, uid: '1' })
    const open = async () => {
      const { ciphertext, key_id, annotations } = sealed
      return (await kubernetes.call('Decrypt', { ciphertext, key_id, annotations, uid: '2' })).plaintext
    }
    assert.deepEqual(await open(), secret)
    assert.equal((await kms.ask('/v1/transit/keys/kubernetes/rotate', { json: {}, headers })).status, 200)
    assert.deepEqual(await open(), secret)
    const later = await kubernetes.call('Encrypt', { plaintext: secret, uid: '3' })
    assert.notEqual(later.key_id, sealed.key_id)
  } finally {
    kubernetes.close()
    plugin?.kill('SIGKILL')
    kms.close()
    auth.close()
    rmSync(folder, { recursive: true, force: true })
    await warder.stop()
  }
})
