import { fileURLToPath } from 'node:url'
import { createSofthsmToken, missingSofthsm, type SofthsmToken } from '@warder/pkcs11/testing'
import type { ClientRun } from './client-run.ts'
import { installPython } from './kmip-clients.ts'
import { startWithMachineRole } from './machine-role.ts'
import { runProgram } from './run-program.ts'

const script = fileURLToPath(new URL('./vault-transit.py', import.meta.url))
const release = '2.3.0'

/** An installation that serves the transit interface, and the token of a machine. The caller stops it. */
export async function startTransit(more: Readonly<Record<string, string>> = {}) {
  const { warder, roleId, secretId } = await startWithMachineRole({ KMS_TRANSIT_ENABLED: 'true', ...more })
  const auth = warder.client('auth')
  try {
    const json = { role_id: roleId, secret_id: secretId }
    const login = await auth.ask('/v1/auth/approle/login', { json })
    const { client_token: token } = JSON.parse(login.text).auth
    return { warder, token: String(token) }
  } catch (error) {
    await warder.stop()
    throw error
  } finally {
    auth.close()
  }
}

/** The driver against an installation of its own, with an HSM if SoftHSM is installed. */
export async function driveTransit(env: Readonly<Record<string, string>>): Promise<{
  readonly code: number | null
  readonly err: string
  readonly steps: readonly { readonly step: string; readonly [member: string]: unknown }[]
}> {
  using softhsm = missingSofthsm === false ? createSofthsmToken() : undefined
  const { warder, token } = await startTransit(softhsm && toHsmSettings(softhsm))
  try {
    const words = [script, warder.kmsUrl, warder.caFile, token, ...(softhsm === undefined ? [] : ['main'])]
    const { code, out, err } = await runProgram('python3', words, { env })
    const lines = out.toString('utf8').trim().split('\n')
    return { code, err, steps: lines.filter((line) => line !== '').map((line) => JSON.parse(line)) }
  } finally {
    await warder.stop()
  }
}

function toHsmSettings({ library, label, pinFile, env }: SofthsmToken): Readonly<Record<string, string>> {
  const hsm = { name: 'main', library, token_label: label, pin_file: pinFile, admins: ['*'] }
  const { SOFTHSM2_CONF = '' } = env
  return { SOFTHSM2_CONF, KMS_HSM: JSON.stringify(hsm) }
}

/** hvac, a client of Vault, of one release, as a user of transit. */
export async function runTransitHvac(): Promise<readonly ClientRun[]> {
  using python = await installPython(`hvac==${release}`)
  if (python === undefined) return [{ missing: `hvac ${release}: pip cannot install it` }]
  const { code, err, steps } = await driveTransit(python.env)
  const passed = steps.map(({ step }) => ({ step, passed: true }))
  const why = err.trim().split('\n').at(-1) ?? `it ended with ${code}`
  const failed = code === 0 ? [] : [{ step: 'what follows', passed: false, why }]
  return [{ client: 'hvac (PyPI)', version: release, way: 'transit', steps: [...passed, ...failed] }]
}
