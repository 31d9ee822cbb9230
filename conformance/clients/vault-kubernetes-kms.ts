import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from 'warder/testing'
import type { ClientRun, Step } from './client-run.ts'
import { startWithMachineRole } from './machine-role.ts'
import { canRun, runProgram } from './run-program.ts'

const program = process.env.WARDER_VAULT_KUBERNETES_KMS ?? 'vault-kubernetes-kms'

/** Why the plugin is not run; false: it is here. */
export function missingPlugin(): string | false {
  if (canRun(program, ['-version'])) return false
  return 'vault-kubernetes-kms is not here: install it, or set WARDER_VAULT_KUBERNETES_KMS to the program'
}

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

/**
 * The KMS plugin of Kubernetes for Vault logs in as a machine and uses a key of the transit interface, asked as the API
 * server of Kubernetes asks it.
 */
export async function runVaultKubernetesKms(): Promise<ClientRun> {
  const missing = missingPlugin()
  if (missing !== false) return { missing }
  const { warder, roleId, secretId } = await startWithMachineRole({
    KMS_TRANSIT_ENABLED: 'true',
    KMS_VAULT_API_ENABLED: 'true',
  })
  const folder = mkdtempSync(join(tmpdir(), 'warder-vault-kms-'))
  const [kms, auth] = [warder.client('kms'), warder.client('auth')]
  const socket = join(folder, 'kms.sock')
  const kubernetes = new ApiServer(socket)
  const steps: Step[] = []
  let plugin: ChildProcess | undefined
  let output = ''
  const step = async (name: string, act: () => Promise<boolean>): Promise<void> => {
    const why = await act().then(
      (right) => (right ? undefined : 'another answer'),
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    steps.push({ step: name, passed: why === undefined, ...(why !== undefined && { why }) })
  }
  try {
    const login = await auth.ask('/v1/auth/approle/login', { json: { role_id: roleId, secret_id: secretId } })
    const headers = { 'X-Vault-Token': String(JSON.parse(login.text).auth.client_token) }
    const key = async (path: string): Promise<void> => {
      const { status, text } = await kms.ask(`/v1/transit/keys/${path}`, { json: {}, headers })
      if (status !== 200) throw new Error(text)
    }
    await key('kubernetes')
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
    const serving = untilServing(kubernetes, plugin, () => output)
    await step('log in and be healthy', async () => (await serving).healthz === 'ok')
    const secret = randomBytes(32)
    const seal = (uid: string) => kubernetes.call('Encrypt', { plaintext: secret, uid })
    const open = async ({ ciphertext, key_id, annotations }: Awaited<ReturnType<typeof seal>>) => {
      const { plaintext } = await kubernetes.call('Decrypt', { ciphertext, key_id, annotations, uid: '2' })
      return plaintext.equals(secret)
    }
    let sealed: Awaited<ReturnType<typeof seal>> | undefined
    await step('encrypt and decrypt', async () => {
      sealed = await seal('1')
      return open(sealed)
    })
    const first = sealed ?? (await seal('1'))
    await step('decrypt after a rotation', async () => {
      await key('kubernetes/rotate')
      return open(first)
    })
    await step('encrypt with the newest version, under another key_id', async () => {
      const later = await seal('3')
      return later.key_id !== first.key_id && (await open(later))
    })
    await step('a changed ciphertext is refused', () => {
      const text = first.ciphertext.toString()
      const changed = Buffer.from(text.replace(/.(?=.{8}$)/s, (one) => (one === 'A' ? 'B' : 'A')))
      return open({ ...first, ciphertext: changed }).then(
        () => false,
        () => true,
      )
    })
    const { out } = await runProgram(program, ['-version'])
    const version = /v?(\d\S*)/.exec(out.toString('utf8'))?.[1] ?? '?'
    const way = 'transit, KMS v2 of Kubernetes'
    return { client: 'vault-kubernetes-kms (Go)', version, way, steps }
  } finally {
    kubernetes.close()
    plugin?.kill('SIGKILL')
    kms.close()
    auth.close()
    rmSync(folder, { recursive: true, force: true })
    await warder.stop()
  }
}
