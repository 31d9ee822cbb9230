import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { query } from '@warder/storage'
import { fromBase32 } from './base32.ts'
import { preparePasskeyCalls } from './methods/passkey/testing/passkey-scene.ts'
import { prepareSamlCalls } from './methods/saml/testing/saml-calls.ts'
import { codeAt } from './methods/totp/code.ts'
import { authOperations } from './operations.ts'
import { formatKeySet, signToken, startIssuer } from './testing/issuer.ts'
import { scene } from './testing/scene.ts'
import { peerSecret, startAuth, type TestService, testAuthority } from './testing/start.ts'

const tables = [
  ...['realm', 'admin', 'admin_realm', 'credential', 'totp', 'approle_role', 'secret_id'],
  ...['orchestrator_role', 'app_token', 'signing_key', 'jwt_subject'],
  ...['saml_key', 'saml_request', 'saml_assertion', 'saml_session', 'passkey', 'used_challenge'],
  ...['recovery_code', 'enrollment_link'],
]

/** Every row of every table; for sessions without their idle limits, which each use moves. */
async function dump(auth: TestService): Promise<string> {
  const rows: unknown[] = []
  for (const table of tables) {
    rows.push(table, await auth.db.all(query<[], unknown>(`SELECT * FROM ${table} ORDER BY 1, 2`), []))
  }
  const sessions = 'SELECT session_id, realm_id, username, created_at FROM session ORDER BY session_id'
  rows.push(await auth.db.all(query<[], unknown>(sessions), []))
  return JSON.stringify(rows)
}

interface Prepared extends AsyncDisposable {
  readonly auth: TestService
  /** One call of every operation. Each would succeed, and change something if the operation changes anything. */
  readonly calls: Readonly<Record<string, () => Promise<{ readonly status: number; readonly text: string }>>>
}

const secret = Buffer.alloc(20, 7)
const secretBase32 = 'A4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYH'
const publicKey =
  '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----'

async function prepare(auditMode: 'continue' | 'reject'): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-faults-'))
  const issuer = await startIssuer(await testAuthority(), folder)
  const options = { adminPassword: 'correct horse', outboundCa: issuer.caFile, auditMode }
  const auth = await startAuth(options)
  const { as, asSuper, realm, user, admin, logIn } = scene(auth)
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  issuer.serve('/keys', { body: formatKeySet({ key: rsa.publicKey, kid: 'k' }) })
  const provider = { jwt_issuer_uri: 'https://idp', jwks_uri: `${issuer.url}/keys` }
  await realm('r', {
    auth_params: {
      username_password_params: { allow_expired_passwords: false },
      jwt_params: { idp_params: [provider] },
      fido2_params: {},
    },
  })
  const samlCalls = await prepareSamlCalls(auth)
  await realm('doomed')
  await user('r', 'ann', { extra_claims: { a: 1 } })
  await user('r', 'doomed')
  await user('r', 'totp')
  await admin('other', ['r'], { userpass: 'ann' })
  const role = { token_policies: ['p'], bind_secret_id: false }
  await asSuper('POST', '/auth/approle/role/worker', role)
  await asSuper('POST', '/auth/approle/role/doomed', {})
  const accounts = { bound_service_account_names: ['*'], bound_service_account_namespaces: ['*'] }
  const orchestrator = { jwks_url: `${issuer.url}/keys`, ...accounts }
  await asSuper('POST', '/auth/orchestrator/role/pods', orchestrator)
  const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
  const made = (await asSuper('POST', '/auth/approle/role/worker/secret-id', {})).json.data
  const login = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
  const token = login.json.auth.client_token
  const cookie = await logIn('r', 'ann')
  const ended = await logIn('r', 'ann')
  const idOf = async (one: string): Promise<string> => (await as(one, 'GET', '/whoami')).json.jti
  const [own, other] = [await idOf(cookie), await idOf(ended)]
  const jwt = signToken(
    rsa.privateKey,
    { alg: 'RS256', kid: 'k' },
    { sub: 'system:serviceaccount:a:b', exp: auth.services.now() + 300 },
  )
  const clients = [{ username: 'ann', auth_scheme: 'up' }]
  const plain = { auth_params: {}, session_max_age_seconds: 9, session_max_stale_age_seconds: 9 }
  const code = () => codeAt(secret, Math.floor(auth.services.now() / 30), 'SHA1')
  const basic = 'ann:correct horse'
  const passkeyCalls = await preparePasskeyCalls(auth)
  const calls: Prepared['calls'] = {
    login: () => auth.call('POST', '/login?realm=r', { basic }),
    'password.change': () =>
      auth.call('POST', '/password?realm=r', { basic, json: { new_password: 'another horse' } }),
    whoami: () => as(cookie, 'GET', '/whoami'),
    'issuers.session': () => auth.call('GET', '/.well-known/session-issuers'),
    certify: () => as(cookie, 'POST', '/certify', { verification_key: publicKey }),
    ...samlCalls,
    ...passkeyCalls,
    ...(await prepareFactorCalls(auth)),
    'sessions.get': () => as(cookie, 'GET', `/sessions/${own}`),
    'sessions.act': () =>
      as(cookie, 'POST', `/sessions/${own}`, {
        authenticated_clients: clients,
        sessions_action: 'LogoutOtherSessions',
      }),
    'sessions.list': () => as(cookie, 'POST', '/sessions/realms/r/clients', clients),
    'sessions.of_realm': () => asSuper('GET', '/sessions/realms/r'),
    'sessions.end': () => asSuper('DELETE', '/sessions', { session_ids: [other] }),
    'sessions.sweep': () => asSuper('DELETE', '/sessions/expired'),
    'sessions.end_realm': () => asSuper('DELETE', '/sessions/realms/r'),
    'notices.test': () => asSuper('POST', '/notices/test', {}),
    'audit.records': () => asSuper('GET', '/v1/audit/records'),
    'audit.counts': () => asSuper('GET', '/v1/audit/counts?since=2026-11-01T00:00:00Z&step=day'),
    'audit.export': () => asSuper('GET', '/v1/audit/export'),
    'audit.verify': () => asSuper('GET', '/v1/audit/verify'),
    'health.details': () => asSuper('GET', '/v1/health/details'),
    'audit.node': () =>
      auth.call('POST', '/v1/audit/node', {
        json: { type: 'verify' },
        headers: { 'x-warder-audit-node': 'x' },
      }),
    'audit.nodes.forget': () => asSuper('DELETE', '/v1/audit/nodes/retired'),
    'realms.create': () => asSuper('POST', '/admins/realms', { id: 'new', ...plain }),
    'realms.list': () => asSuper('GET', '/admins/realms'),
    'realms.get': () => asSuper('GET', '/admins/realms/r'),
    'realms.replace': () => asSuper('PUT', '/admins/realms/r', plain),
    'realms.delete': () => asSuper('DELETE', '/admins/realms/doomed'),
    'admins.create': () => asSuper('POST', '/admins', { id: 'new', realms: ['r'] }),
    'admins.list': () => asSuper('GET', '/admins'),
    'admins.get': () => asSuper('GET', '/admins/other'),
    'admins.replace': () => asSuper('PUT', '/admins/other', { realms: ['r'], userpass: 'x' }),
    'admins.delete': () => asSuper('DELETE', '/admins/other'),
    'admins.add_realm': () => asSuper('PUT', '/admins/other/realms/doomed'),
    'admins.remove_realm': () => asSuper('DELETE', '/admins/other/realms/r'),
    'credentials.create': () =>
      asSuper('POST', '/realms/r/userpass', { username: 'new', password_input: { plaintext: 'new horse' } }),
    'credentials.list': () => asSuper('GET', '/realms/r/userpass'),
    'credentials.get': () => asSuper('GET', '/realms/r/userpass/ann'),
    'credentials.replace': () => asSuper('PUT', '/realms/r/userpass/ann', { roles: ['x'] }),
    'credentials.delete': () => asSuper('DELETE', '/realms/r/userpass/doomed'),
    'credentials.list_all': () => asSuper('GET', '/admins/userpass'),
    'jwt_subjects.list': () => asSuper('GET', '/realms/r/jwt-subjects'),
    'jwt_subjects.assign': () =>
      asSuper('PUT', '/realms/r/jwt-subjects/sue', { jwt_issuer_uri: provider.jwt_issuer_uri }),
    'jwt_subjects.release': () => asSuper('DELETE', '/realms/r/jwt-subjects/sue'),
    'totp.generate': () => asSuper('POST', '/realms/r/totp/generate', { username: 'totp' }),
    'totp.verify': () =>
      asSuper('POST', '/realms/r/totp/verify', { username: 'totp', token: code(), secret: secretBase32 }),
    'totp.disable': () => asSuper('DELETE', '/realms/r/totp/totp'),
    'approle.login': () => auth.call('POST', '/auth/approle/login', { json: { role_id } }),
    'approle.role.save': () => asSuper('POST', '/auth/approle/role/worker', { token_ttl: 1 }),
    'approle.role.get': () => asSuper('GET', '/auth/approle/role/worker'),
    'approle.role.role_id': () => asSuper('GET', '/auth/approle/role/worker/role-id'),
    'approle.secret_id.create': () => asSuper('POST', '/auth/approle/role/worker/secret-id', {}),
    'approle.secret_id.list': () => asSuper('GET', '/auth/approle/role/worker/secret-id'),
    'approle.secret_id.lookup': () =>
      asSuper('POST', '/auth/approle/role/worker/secret-id/lookup', { secret_id: made.secret_id }),
    'approle.secret_id_accessor.lookup': () =>
      asSuper('POST', '/auth/approle/role/worker/secret-id-accessor/lookup', {
        secret_id_accessor: made.secret_id_accessor,
      }),
    'approle.secret_id_accessor.destroy': () =>
      asSuper('POST', '/auth/approle/role/worker/secret-id-accessor/destroy', {
        secret_id_accessor: made.secret_id_accessor,
      }),
    'approle.secret_id.destroy': () =>
      asSuper('POST', '/auth/approle/role/worker/secret-id/destroy', {
        secret_id_accessor: made.secret_id_accessor,
      }),
    'approle.role.delete': () => asSuper('DELETE', '/auth/approle/role/doomed'),
    'approle.role.list': () => asSuper('GET', '/auth/approle/role'),
    'orchestrator.login': () =>
      auth.call('POST', '/auth/orchestrator/login', { json: { role: 'pods', jwt } }),
    'orchestrator.role.save': () =>
      asSuper('POST', '/auth/orchestrator/role/pods', { ...orchestrator, token_ttl: 5 }),
    'orchestrator.role.get': () => asSuper('GET', '/auth/orchestrator/role/pods'),
    'orchestrator.role.delete': () => asSuper('DELETE', '/auth/orchestrator/role/pods'),
    'orchestrator.role.list': () => asSuper('GET', '/auth/orchestrator/role'),
    'ended.follow': () =>
      auth.call('GET', `/ended?${following}`, { headers: { 'x-warder-peer': peerSecret } }),
    'persons.get': () => asSuper('GET', '/realms/r/persons/ann'),
    'persons.end': () => asSuper('DELETE', '/realms/r/persons/nobody'),
    'names.known': () =>
      auth.call('GET', '/known?realm=_&username=ann&entity=worker', {
        headers: { 'x-warder-peer': peerSecret },
      }),
    'token.lookup_self': () => auth.call('GET', '/auth/token/lookup-self', { token }),
    'token.renew_self': () => auth.call('POST', '/auth/token/renew-self', { token }),
    'token.revoke_self': () => auth.call('POST', '/auth/token/revoke-self', { token }),
  }
  return {
    auth,
    calls,
    async [Symbol.asyncDispose]() {
      await auth[Symbol.asyncDispose]()
      await issuer[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Calls of the operations on the second factors of one's own. */
async function prepareFactorCalls(auth: TestService): Promise<Prepared['calls']> {
  const { as, asSuper, user, logIn } = scene(auth)
  for (const name of ['enrolls', 'leaves', 'linked']) await user('r', name)
  const [own, leaving] = [await logIn('r', 'enrolls'), await logIn('r', 'leaves')]
  const begin = async (cookie: string) => {
    const { secret_base32, enrollment } = (await as(cookie, 'POST', '/account/totp/options')).json
    return { enrollment, code: currentCode(auth, secret_base32) }
  }
  assert.equal((await as(leaving, 'POST', '/account/totp', await begin(leaving))).status, 200)
  const confirmation = await begin(own)
  const { token } = (await asSuper('POST', '/realms/r/totp/linked/link')).json
  const ask = () => auth.call('POST', '/totp/enroll/options', { json: { token } })
  const { secret_base32, enrollment } = (await ask()).json
  const handover = (await requestHandover(auth)).json.request
  const byLink = { token, enrollment, code: currentCode(auth, secret_base32) }
  return {
    'account.get': () => as(own, 'GET', '/account'),
    'handover.request': () => requestHandover(auth),
    'handover.request_program': () =>
      auth.call('POST', '/handover/program', {
        json: {
          return_to: 'http://127.0.0.1:4711/',
          state: 's'.repeat(16),
          code_challenge: 'c'.repeat(43),
        },
      }),
    'handover.give': () => as(own, 'POST', '/account/handover', { request: handover }),
    'login.methods': () => auth.call('GET', '/public/realms/r/logins'),
    'sessions.own': () => as(own, 'GET', '/account/sessions'),
    'sessions.end_others': () => as(own, 'DELETE', '/account/sessions'),
    'sessions.logout': () => auth.call('POST', '/logout', { cookie: leaving }),
    'account.renew_codes': () => as(leaving, 'POST', '/account/recovery-codes'),
    'totp.enroll_options': () => as(own, 'POST', '/account/totp/options'),
    'totp.enroll': () => as(own, 'POST', '/account/totp', confirmation),
    'totp.leave': () => as(leaving, 'DELETE', '/account/totp'),
    'totp.link': () => asSuper('POST', '/realms/r/totp/ann/link'),
    'totp.link_options': ask,
    'totp.link_enroll': () => auth.call('POST', '/totp/enroll', { json: byLink }),
  }
}

const requestHandover = (auth: TestService) =>
  auth.call('POST', '/handover', {
    json: { return_to: 'https://kms.example/', state: 's'.repeat(16), code_challenge: 'c'.repeat(43) },
    headers: { 'x-warder-peer': peerSecret },
  })

const currentCode = (auth: TestService, base32: string): string =>
  codeAt(fromBase32(base32) ?? Buffer.alloc(0), Math.floor(auth.services.now() / 30), 'SHA1')

const following = `follower=${randomUUID()}&after=0&nonce=${'n'.repeat(24)}`

/** Operations that neither read the database nor write an audit record. */
const untouched = new Set(['version', 'jwks.session', 'jwks.certificate'])
const named = authOperations
  .filter(({ name }) => !/^(?:v1|kubernetes|ui)\./.test(name) && !untouched.has(name))
  .map(({ name }) => name)
/** Operations that do not read the database, but fail if the audit log fails or a peer secret is missing. */
const withoutDatabase = new Set(['passkeys.login_options', 'handover.request', 'handover.request_program'])
const unaudited = new Set(authOperations.filter(({ audited }) => audited === false).map(({ name }) => name))

describe('audit mode reject', () => {
  it('answers 503 to every operation whose record cannot be written, and changes nothing', async () => {
    await using prepared = await prepare('reject')
    const { auth, calls } = prepared
    assert.deepEqual(Object.keys(calls).sort(), [...named].sort(), 'every operation is tried')
    await auth.superCookie()
    const before = await dump(auth)
    auth.faults.audit = true
    for (const [name, call] of Object.entries(calls)) {
      const answer = await call()
      if (unaudited.has(name)) {
        assert.equal(answer.status, 200, name)
        continue
      }
      assert.equal(answer.status, 503, `${name}: ${answer.status} ${answer.text}`)
      assert.equal(JSON.parse(answer.text).error, 'audit_unavailable', name)
      assert.equal(await dump(auth), before, name)
    }
    const refused = await auth.call('POST', '/login?realm=r', { basic: 'ann:wrong' })
    assert.equal(refused.status, 503, 'a wrong password reads the same as a right one')
    auth.faults.audit = false
    for (const [name, call] of Object.entries(calls)) {
      if (['sessions.end_realm', 'realms.replace', 'token.revoke_self'].includes(name)) continue
      const answer = await call()
      if (name === 'login') assert.equal(answer.status, 200, 'and all is well again')
    }
    assert.notEqual(await dump(auth), before, 'the same calls do change something')
  })

  it('writes one record with actor and object to disk before the change', async () => {
    await using prepared = await prepare('reject')
    const { auth, calls } = prepared
    const seen = auth.events.length
    await calls['credentials.delete']?.()
    const [event, ...more] = auth.events.slice(seen).filter(({ operation }) => operation !== 'login')
    assert.equal(more.length, 0)
    assert.deepEqual(
      [event?.operation, event?.principal, event?.object, event?.outcome],
      ['credentials.delete', 'admin', 'doomed', 'success'],
    )
  })
})

describe('a database that cannot be reached (A33)', () => {
  it('allows no login, answers 503 to everything including health, and recovers afterwards', async () => {
    await using prepared = await prepare('continue')
    const { auth, calls } = prepared
    await auth.superCookie()
    const before = await dump(auth)
    auth.faults.database = true
    for (const [name, call] of Object.entries(calls)) {
      const answer = await call()
      const expected = withoutDatabase.has(name) ? 200 : 503
      assert.equal(answer.status, expected, `${name}: ${answer.status} ${answer.text}`)
      assert.doesNotMatch(answer.text, /test took it away|_ea_|SELECT/)
    }
    for (const call of [{ basic: 'ann:wrong' }, { basic: 'nobody:x' }, { bearer: 'a.b.c' }]) {
      const answer = await auth.call('POST', '/login?realm=r', call)
      assert.ok([401, 503].includes(answer.status), String(answer.status))
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    assert.equal((await auth.call('GET', '/health')).status, 503)
    assert.equal((await auth.call('GET', '/public/version')).status, 200)
    assert.equal((await auth.call('GET', '/whoami')).status, 401, 'no credential is no credential')
    auth.faults.database = false
    assert.equal(await dump(auth), before)
    assert.equal((await calls.whoami?.())?.status, 200)
    assert.equal((await auth.call('GET', '/health')).status, 200)
  })
})
