import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { authOperations } from '../operations.ts'
import { formatKeySet, signToken, startIssuer } from '../testing/issuer.ts'
import { scene } from '../testing/scene.ts'
import { startAuth, type TestService, testAuthority } from '../testing/start.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** Calls every AppRole endpoint once, from role to revoked token. @returns the declared paths of the calls */
async function lifeOfAnAppRole(
  auth: TestService,
  prefix: '' | '/v1',
  method: 'POST' | 'PUT',
  header: 'x-secret-token' | 'x-vault-token',
): Promise<readonly string[]> {
  const asked: string[] = []
  const cookie = await auth.superCookie()
  // These clients send no Content-Type.
  const ask = async (verb: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    asked.push(`${verb} ${prefix}${path.replace('/role/till', '/role/{name}').replace(/\?.*/, '')}`)
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    const credential = header in headers ? {} : { cookie }
    return auth.call(verb, prefix + path, { ...body, ...credential, headers })
  }
  const role = '/auth/approle/role/till'
  assert.equal((await ask(method, role, { token_ttl: 60, token_policies: ['p'] })).status, 204)
  assert.equal((await ask('GET', role)).json.data.token_ttl, 60)
  assert.deepEqual((await ask('GET', '/auth/approle/role?list=true')).json.data.keys, ['till'])
  assert.deepEqual((await ask('LIST', '/auth/approle/role')).json.data.keys, ['till'])
  const { role_id } = (await ask('GET', `${role}/role-id`)).json.data
  assert.equal((await ask(method, `${role}/secret-id`)).status, 200, 'a body is not needed')
  const { secret_id, secret_id_accessor } = (await ask(method, `${role}/secret-id`, {})).json.data
  const login = await ask(method, '/auth/approle/login', { role_id, secret_id })
  assert.deepEqual(login.json.auth.policies, ['p'])
  const own = { [header]: login.json.auth.client_token as string }
  assert.equal((await ask('GET', '/auth/token/lookup-self', undefined, own)).json.data.entity_id, 'till')
  assert.equal((await ask(method, '/auth/token/renew-self', undefined, own)).json.auth.lease_duration, 60)
  assert.equal((await ask(method, '/auth/token/revoke-self', undefined, own)).status, 204)
  const gone = await ask('GET', '/auth/token/lookup-self', undefined, own)
  assert.equal(gone.status, 403)
  assert.deepEqual(gone.json.errors, [gone.json.description])
  const accessors = (await ask('GET', `${role}/secret-id?list=true`)).json.data.keys
  assert.equal(accessors.length, 2)
  assert.deepEqual((await ask('LIST', `${role}/secret-id`)).json.data.keys, accessors)
  const known = await ask(method, `${role}/secret-id/lookup`, { secret_id })
  assert.equal(known.json.data.secret_id_accessor, secret_id_accessor)
  const byAccessor = await ask(method, `${role}/secret-id-accessor/lookup`, { secret_id_accessor })
  assert.deepEqual(byAccessor.json, known.json)
  assert.equal((await ask(method, `${role}/secret-id/destroy`, { secret_id_accessor })).status, 204)
  const again = await ask(method, `${role}/secret-id-accessor/destroy`, { secret_id_accessor })
  assert.equal(again.status, 204)
  const destroyed = await ask(method, '/auth/approle/login', { role_id, secret_id })
  assert.equal(destroyed.status, 400)
  assert.deepEqual(destroyed.json.errors, [destroyed.json.description])
  assert.equal((await ask('DELETE', role)).status, 204)
  const missing = await ask('GET', role)
  assert.equal(missing.status, 404)
  assert.deepEqual(missing.json.errors, [missing.json.description])
  return asked
}

async function lifeOfAnOrchestratorRole(
  auth: TestService,
  keys: string,
  mount: string,
  method: 'POST' | 'PUT',
): Promise<readonly string[]> {
  const asked: string[] = []
  const cookie = await auth.superCookie()
  const ask = (verb: string, path: string, json?: unknown) => {
    asked.push(`${verb} ${mount}${path.replace('/role/pods', '/role/{name}').replace(/\?.*/, '')}`)
    return auth.call(verb, mount + path, {
      cookie,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
  }
  const lists = { bound_service_account_names: ['*'], bound_service_account_namespaces: ['shop'] }
  assert.equal((await ask(method, '/role/pods', { jwks_url: keys, token_ttl: 60, ...lists })).status, 204)
  assert.deepEqual((await ask('GET', '/role/pods')).json.data, { jwks_url: keys, token_ttl: 60, ...lists })
  assert.deepEqual((await ask('GET', '/role?list=true')).json.data.keys, ['pods'])
  assert.deepEqual((await ask('LIST', '/role')).json.data.keys, ['pods'])
  const exp = auth.services.now() + 300
  const jwt = signToken(
    rsa.privateKey,
    { alg: 'RS256', kid: 'k' },
    { sub: 'system:serviceaccount:shop:till', exp },
  )
  const login = await ask(method, '/login', { role: 'pods', jwt })
  assert.equal(login.status, 200, login.text)
  assert.equal((await ask('DELETE', '/role/pods')).status, 204)
  const token = login.json.auth.client_token
  assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token })).status, 403)
  const refused = await ask(method, '/login', { role: 'pods', jwt })
  assert.deepEqual(refused.json.errors, [refused.json.description])
  return asked
}

describe('clients written for Vault', () => {
  it('reach every machine endpoint under its path, under /v1 and under kubernetes, by POST and by PUT', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warder-alias-'))
    await using issuer = await startIssuer(await testAuthority(), folder)
    await using auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
    issuer.serve('/keys', { body: formatKeySet({ key: rsa.publicKey, kid: 'k' }) })
    const asked = new Set<string>()
    for (const prefix of ['', '/v1'] as const) {
      for (const method of ['POST', 'PUT'] as const) {
        for (const header of ['x-secret-token', 'x-vault-token'] as const) {
          for (const path of await lifeOfAnAppRole(auth, prefix, method, header)) asked.add(path)
        }
        for (const name of ['orchestrator', 'kubernetes']) {
          const mount = `${prefix}/auth/${name}`
          for (const path of await lifeOfAnOrchestratorRole(auth, `${issuer.url}/keys`, mount, method)) {
            asked.add(path)
          }
        }
      }
    }
    const declared = authOperations
      .filter(({ route }) => /^(\/v1)?\/auth\//.test(route.path))
      .flatMap(({ route }) => route.methods.map((method) => `${method} ${route.path}`))
    assert.deepEqual([...asked].sort(), declared.sort())
    // The audit log records the path that was used.
    const names = new Set(auth.events.map(({ operation }) => operation))
    for (const name of ['approle.login', 'v1.approle.login', 'kubernetes.login', 'v1.kubernetes.login']) {
      assert.ok(names.has(name), name)
    }
    rmSync(folder, { recursive: true, force: true })
  })

  it('get errors in the format of Vault also for unknown paths and wrong methods', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    for (const [method, path, status] of [
      ['GET', '/auth/token/lookup', 404],
      ['POST', '/v1/auth/userpass/login/alice', 404],
      ['GET', '/v1/sys/mounts', 404],
      ['DELETE', '/auth/token/lookup-self', 405],
    ] as const) {
      const answer = await auth.call(method, path)
      assert.equal(answer.status, status, path)
      assert.deepEqual(answer.json.errors, [answer.json.description], path)
    }
    assert.equal((await auth.call('GET', '/realm')).json.errors, undefined)
  })

  it('can use three headers: that of the service takes precedence, the bearer token comes last; two tokens in one are invalid', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    await asSuper('POST', '/auth/approle/role/till', { bind_secret_id: false })
    const { role_id } = (await asSuper('GET', '/auth/approle/role/till/role-id')).json.data
    const login = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
    const token = login.json.auth.client_token
    const look = async (headers: Record<string, string>): Promise<number> =>
      (await auth.call('GET', '/auth/token/lookup-self', { headers })).status
    assert.equal(await look({ 'x-secret-token': token, 'x-vault-token': 'other' }), 200)
    assert.equal(await look({ 'x-secret-token': 'other', 'x-vault-token': token }), 403)
    assert.equal(await look({ 'x-vault-token': `${token}, ${token}` }), 403)
    assert.equal(await look({ authorization: `Bearer ${token}` }), 200)
    assert.equal(await look({ authorization: `Basic ${token}` }), 403)
    assert.equal(await look({ 'x-vault-token': 'other', authorization: `Bearer ${token}` }), 403)
    assert.equal(await look({ 'x-secret-token': token.toUpperCase() }), 403)
  })
})
