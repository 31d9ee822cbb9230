import type { TokenIssuer } from './realms.ts'
import { type Walked, walkerOf } from './walked-installation.ts'

const verbs = ['post', 'put'] as const

/** Logins of machines, their roles and tokens: by the paths of both kinds of clients, POST and PUT, here and through the kms. */
export async function walkMachines(
  { admin: { auth: admin }, wire }: Walked,
  issuer: TokenIssuer,
): Promise<void> {
  const jwt = await issuer.token({ sub: 'system:serviceaccount:shop:web', aud: 'warder' })
  const anonymous = walkerOf(wire('auth'))
  for (const prefix of ['', '/v1']) {
    for (const verb of verbs) {
      const approle = `${prefix}/auth/approle`
      const role = `${approle}/role/job`
      await admin[verb](role, { token_policies: ['p'] })
      await admin.get(role)
      await admin.get(`${approle}/role?list=true`)
      const { role_id } = (await admin.get(`${role}/role-id`)).json.data
      const made = async () => (await admin[verb](`${role}/secret-id`, {})).json.data
      const { secret_id, secret_id_accessor } = await made()
      await admin.get(`${role}/secret-id?list=true`)
      await admin[verb](`${role}/secret-id/lookup`, { secret_id })
      await admin[verb](`${role}/secret-id-accessor/lookup`, { secret_id_accessor })
      const login = await anonymous[verb](`${approle}/login`, { role_id, secret_id })
      await walkToken(walkerOf(wire('auth', { headers: tokenOf(login) })), `${prefix}/auth/token`, verb)
      await admin[verb](`${role}/secret-id-accessor/destroy`, { secret_id_accessor })
      await admin[verb](`${role}/secret-id/destroy`, { secret_id: (await made()).secret_id })
      await admin.del(role)
      for (const mount of ['orchestrator', 'kubernetes']) {
        const pods = `${prefix}/auth/${mount}/role/pods`
        await admin[verb](pods, {
          jwks_url: issuer.keys,
          bound_service_account_names: ['*'],
          bound_service_account_namespaces: ['*'],
          bound_audiences: ['warder'],
        })
        await admin.get(pods)
        await admin.get(`${prefix}/auth/${mount}/role?list=true`)
        await anonymous[verb](`${prefix}/auth/${mount}/login`, { role: 'pods', jwt })
        await admin.del(pods)
      }
    }
  }
  await walkProxy({ admin, wire }, issuer, jwt)
}

/** The same logins at the kms, which passes them on. */
async function walkProxy(
  { admin, wire }: Pick<Walked, 'wire'> & { readonly admin: Walked['admin']['auth'] },
  issuer: TokenIssuer,
  jwt: string,
): Promise<void> {
  const anonymous = walkerOf(wire('kms'))
  await admin.post('/v1/auth/approle/role/job', { bind_secret_id: false })
  const { role_id } = (await admin.get('/v1/auth/approle/role/job/role-id')).json.data
  const bound = { bound_service_account_names: ['*'], bound_service_account_namespaces: ['*'] }
  await admin.post('/v1/auth/kubernetes/role/pods', {
    jwks_url: issuer.keys,
    ...bound,
    bound_audiences: ['warder'],
  })
  for (const verb of verbs) {
    for (const mount of ['orchestrator', 'kubernetes'])
      await anonymous[verb](`/v1/auth/${mount}/login`, { role: 'pods', jwt })
    const login = await anonymous[verb]('/v1/auth/approle/login', { role_id })
    await walkToken(walkerOf(wire('kms', { headers: tokenOf(login) })), '/v1/auth/token', verb)
  }
}

async function walkToken(
  own: ReturnType<typeof walkerOf>,
  path: string,
  verb: 'post' | 'put',
): Promise<void> {
  await own.get(`${path}/lookup-self`)
  await own[verb](`${path}/renew-self`, {})
  await own[verb](`${path}/revoke-self`, {})
}

const tokenOf = ({ json }: { readonly json: { readonly auth: { readonly client_token: string } } }) => ({
  'x-vault-token': json.auth.client_token,
})
