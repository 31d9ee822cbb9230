import { fileURLToPath } from 'node:url'
import { startInstallation } from 'warder/testing'
import type { ClientRun } from './client-run.ts'
import { installPython } from './kmip-clients.ts'
import { runProgram } from './run-program.ts'

const script = fileURLToPath(new URL('./vault-hvac.py', import.meta.url))
const role = '/v1/auth/approle/role/ops'
const release = '2.3.0'

/** One line of the driver about a step, with the result that the client read. */
export interface HvacStep {
  readonly step: string
  readonly [member: string]: unknown
}

/** The driver against an installation of its own, with the token of a machine that may administer roles. */
export async function driveHvac(env: Readonly<Record<string, string>>): Promise<{
  readonly code: number | null
  readonly err: string
  readonly steps: readonly HvacStep[]
}> {
  const warder = await startInstallation({ env: { KMS_VAULT_API_ENABLED: 'true' } })
  const auth = warder.client('auth')
  try {
    const headers = { cookie: `_ea_=${await warder.adminToken()}` }
    const fields = { token_policies: 'machine-roles-admin', bind_secret_id: false }
    const made = await auth.ask(role, { json: fields, headers })
    if (made.status !== 204) throw new Error(`the role was not made: ${made.text}`)
    const { data } = JSON.parse((await auth.ask(`${role}/role-id`, { headers })).text)
    const login = await auth.ask('/v1/auth/approle/login', { json: { role_id: data.role_id } })
    const { client_token: token } = JSON.parse(login.text).auth
    const { code, out, err } = await runProgram(
      'python3',
      [script, warder.authUrl, warder.caFile, token, warder.kmsUrl],
      {
        env,
      },
    )
    const lines = out.toString('utf8').trim().split('\n')
    return {
      code,
      err,
      steps: lines.filter((line) => line !== '').map((line) => JSON.parse(line) as HvacStep),
    }
  } finally {
    auth.close()
    await warder.stop()
  }
}

/** hvac, a client of Vault, of one release. */
export async function runHvac(): Promise<readonly ClientRun[]> {
  using python = await installPython(`hvac==${release}`)
  if (python === undefined) return [{ missing: `hvac ${release}: pip cannot install it` }]
  const { code, err, steps } = await driveHvac(python.env)
  const passed = steps.map(({ step }) => ({ step, passed: true }))
  const why = err.trim().split('\n').at(-1) ?? `it ended with ${code}`
  const failed = code === 0 ? [] : [{ step: 'what follows', passed: false, why }]
  return [
    {
      client: 'hvac (PyPI)',
      version: release,
      way: 'machine roles and logins',
      steps: [...passed, ...failed],
    },
  ]
}
