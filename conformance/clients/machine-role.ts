import { type Installation, startInstallation } from 'warder/testing'

export interface MachineRole {
  readonly warder: Installation
  readonly roleId: string
  readonly secretId: string
}

const role = '/v1/auth/approle/role'

/** An installation whose kms passes `/v1/auth` on, with a role `job` and a secret id of it. The caller stops it. */
export async function startWithMachineRole(
  more: Readonly<Record<string, string>> = {},
): Promise<MachineRole> {
  const env = { KMS_VAULT_API_ENABLED: 'true', KMS_RATE_LIMIT_PER_SECOND: '1000', ...more }
  const warder = await startInstallation({ env })
  const auth = warder.client('auth')
  try {
    const headers = { cookie: `_ea_=${await warder.adminToken()}` }
    const ask = async (path: string, json?: object) => {
      const { status, text } = await auth.ask(path, json === undefined ? { headers } : { json, headers })
      if (status !== 200 && status !== 204) throw new Error(`${path}: ${status} ${text}`)
      return text === '' ? {} : JSON.parse(text).data
    }
    await ask(`${role}/job`, { token_policies: 'sales', token_ttl: '1h' })
    const { role_id: roleId } = await ask(`${role}/job/role-id`)
    const { secret_id: secretId } = await ask(`${role}/job/secret-id`, {})
    return { warder, roleId, secretId }
  } catch (error) {
    await warder.stop()
    throw error
  } finally {
    auth.close()
  }
}
