import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { fromBase32 } from './base32.ts'
import { codeAt } from './methods/totp/code.ts'
import type { Answer } from './testing/client.ts'
import { formatKeySet, signToken, startIssuer } from './testing/issuer.ts'
import { scene } from './testing/scene.ts'
import { knownHash, startAuth, testAuthority } from './testing/start.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem =
  '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----'
const nowhere = '00000000-0000-4000-8000-000000000000'

/** The error conditions of the interface, endpoint by endpoint, each with its expected status. */
it('every endpoint answers every error condition of the interface with its status', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-conditions-'))
  await using issuer = await startIssuer(await testAuthority(), folder)
  await using auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
  await using bare = await startAuth({
    adminPassword: 'correct horse',
    config: { certificate_signing: false, publish_session_jwks: false },
  })
  const { as, asSuper, realm, user, admin, logIn } = scene(auth)
  issuer.serve('/keys', { body: formatKeySet({ key: rsa.publicKey, kid: 'k' }) })
  const seen = new Set<number>()
  const expect = async (status: number, what: string, call: Promise<Answer>): Promise<Answer> => {
    const answer = await call
    assert.equal(answer.status, status, `${what}: ${answer.text}`)
    if (status >= 400) {
      assert.equal(typeof answer.json.error, 'string', what)
      assert.match(answer.json.description, /^\S.*\.$/, what)
    }
    if (status === 204) assert.equal(answer.text, '', what)
    seen.add(status)
    return answer
  }

  // 4.6 Realms, 4.7 Admins
  const plain = { auth_params: {}, session_max_age_seconds: 60, session_max_stale_age_seconds: 30 }
  await realm('r')
  await realm('s')
  for (const name of ['ann', 'bob', 'chief']) await user('r', name, { extra_claims: { team: 'blue' } })
  await admin('chief', ['r'], { userpass: 'chief' })
  const [ann, chief] = [await logIn('r', 'ann'), await logIn('r', 'chief')]
  await expect(201, 'create a realm', asSuper('POST', '/admins/realms', { id: 't', ...plain }))
  await expect(409, 'a realm that exists', asSuper('POST', '/admins/realms', { id: 't', ...plain }))
  await expect(400, 'a malformed realm', asSuper('POST', '/admins/realms', { id: 'u' }))
  await expect(403, 'not by a realm admin', as(chief, 'POST', '/admins/realms', { id: 'u', ...plain }))
  await expect(
    401,
    'not without a session',
    auth.call('POST', '/admins/realms', { json: { id: 'u', ...plain } }),
  )
  await expect(200, 'read a realm', asSuper('GET', '/admins/realms/t'))
  await expect(404, 'no such realm', asSuper('GET', '/admins/realms/none'))
  await expect(200, 'read one’s realm', as(chief, 'GET', '/admins/realms/r'))
  await expect(403, 'read another realm', as(chief, 'GET', '/admins/realms/s'))
  await expect(200, 'replace a realm', asSuper('PUT', '/admins/realms/t', plain))
  await expect(403, 'replace one’s realm', as(chief, 'PUT', '/admins/realms/r', plain))
  await expect(403, 'delete one’s realm', as(chief, 'DELETE', '/admins/realms/r'))
  await expect(204, 'delete a realm', asSuper('DELETE', '/admins/realms/t'))
  const all = await expect(200, 'list realms', asSuper('GET', '/admins/realms'))
  const own = await expect(200, 'list one’s realms', as(chief, 'GET', '/admins/realms'))
  assert.deepEqual(
    [all, own].map(({ json }) => json.map(({ id }: { id: string }) => id)),
    [['_', 'r', 's'], ['r']],
  )
  const users = await expect(200, 'every credential', asSuper('GET', '/admins/userpass'))
  assert.ok(users.json.every((one: { password_hash: string }) => one.password_hash === ''))
  await expect(403, 'every credential, not by a realm admin', as(chief, 'GET', '/admins/userpass'))
  await expect(201, 'create an admin', asSuper('POST', '/admins', { id: 'a', realms: ['s'] }))
  await expect(409, 'an admin that exists', asSuper('POST', '/admins', { id: 'a', realms: ['s'] }))
  await expect(201, 'for one’s realm', as(chief, 'POST', '/admins', { id: 'b', realms: ['r'] }))
  await expect(403, 'for another', as(chief, 'POST', '/admins', { id: 'c', realms: ['r', 's'] }))
  await expect(200, 'read an admin', asSuper('GET', '/admins/a'))
  await expect(404, 'no such admin', asSuper('GET', '/admins/none'))
  await expect(200, 'replace an admin', asSuper('PUT', '/admins/a', { id: 'a', realms: ['s'] }))
  await expect(200, 'add a realm', asSuper('PUT', '/admins/a/realms/r'))
  await expect(403, 'add another realm', as(chief, 'PUT', '/admins/chief/realms/s'))
  await expect(200, 'remove a realm', asSuper('DELETE', '/admins/a/realms/r'))
  await expect(200, 'list admins', asSuper('GET', '/admins'))
  await expect(403, 'list admins, not by a realm admin', as(chief, 'GET', '/admins'))
  await expect(204, 'delete an admin', asSuper('DELETE', '/admins/a'))

  // 4.8 Credentials
  const place = '/realms/r/userpass'
  const fresh = { username: 'new', password_input: { hashed: knownHash } }
  const created = await expect(201, 'create a credential', as(chief, 'POST', place, fresh))
  assert.equal('password_input' in created.json, false)
  await expect(409, 'the same again', as(chief, 'POST', place, fresh))
  const hashed = (text: string) => ({ username: 'x', password_input: { hashed: text } })
  for (const [what, body] of Object.entries({
    'no PHC': hashed('secret'),
    'not argon2id': hashed(knownHash.replace('argon2id', 'argon2i')),
    'another cost': hashed(knownHash.replace('t=3', 't=4')),
    'no password': { username: 'x' },
    'a reserved claim': { ...fresh, username: 'x', extra_claims: { sub: 'y' } },
    'more than 4 KiB of claims': { ...fresh, username: 'x', extra_claims: { a: 'x'.repeat(4096) } },
    'another realm': { ...fresh, username: 'x', realm: 's' },
  })) {
    await expect(400, what, as(chief, 'POST', place, body))
  }
  await expect(200, 'list credentials', as(chief, 'GET', place))
  await expect(200, 'read a credential', as(chief, 'GET', `${place}/new`))
  await expect(404, 'no such credential', as(chief, 'GET', `${place}/none`))
  await expect(200, 'replace, password kept', as(chief, 'PUT', `${place}/new`, { roles: ['x'] }))
  await expect(204, 'delete a credential', as(chief, 'DELETE', `${place}/new`))
  for (const path of ['/realms/s/userpass', '/realms/_/userpass', '/realms/s/userpass/ann']) {
    await expect(403, path, as(chief, 'GET', path))
    await expect(403, path, as(ann, 'GET', path))
    await expect(401, path, auth.call('GET', path))
  }

  // 4.9 TOTP
  const totp = (what: string) => `/realms/r/totp/${what}?realm=r`
  const made = await expect(
    200,
    'generate',
    as(chief, 'POST', totp('generate'), { username: 'bob', issuer: 'W' }),
  )
  assert.match(made.json.otpauth_url, /^otpauth:\/\/totp\/W:bob\?.*algorithm=SHA1&digits=6&period=30$/)
  const secret = fromBase32(made.json.secret_base32) ?? Buffer.alloc(0)
  const code = (offset: number) => codeAt(secret, Math.floor(auth.services.now() / 30) + offset, 'SHA1')
  const proof = { username: 'bob', secret: made.json.secret_base32, issuer: 'W' }
  await expect(400, 'a wrong code', as(chief, 'POST', totp('verify'), { ...proof, token: '12345x' }))
  await expect(400, 'a member missing', as(chief, 'POST', totp('verify'), proof))
  const enabled = await expect(
    200,
    'verify',
    as(chief, 'POST', totp('verify'), { ...proof, token: code(-1) }),
  )
  assert.equal(enabled.text, '')

  // 4.2 Login and claims
  const login = (what: object) => auth.call('POST', '/login?realm=r', what)
  const bob = { basic: 'bob:correct horse' }
  const wanted = await expect(200, 'TOTP is asked for', login(bob))
  assert.deepEqual(wanted.json, { next_step: 'TotpRequired', session_id: null })
  await expect(401, 'a wrong code', login({ ...bob, json: { totp_code: '12345x' } }))
  const entered = await expect(200, 'the right one', login({ ...bob, json: { totp_code: code(0) } }))
  assert.equal(entered.json.next_step, 'Authenticated')
  await expect(401, 'a wrong password', login({ basic: 'ann:wrong' }))
  await expect(401, 'no credential', login({}))
  await expect(400, 'a malformed body', login({ basic: 'ann:correct horse', body: '{' }))
  await expect(400, 'no realm', auth.call('POST', '/login', { basic: 'ann:correct horse' }))
  const off = await expect(200, 'disable TOTP', as(chief, 'DELETE', totp('bob')))
  assert.equal(off.text, '')
  const claims = (await expect(200, 'whoami', as(ann, 'GET', '/whoami?realm=r'))).json
  assert.deepEqual(Object.keys(claims).sort(), [
    'as_as',
    'as_rid',
    'as_sid',
    'aud',
    'exp',
    'iat',
    'iss',
    'jti',
    'nbf',
    'roles',
    'sub',
    'team',
  ])
  await expect(401, 'whoami without a cookie', auth.call('GET', '/whoami?realm=r'))
  const certify = (body: unknown) => as(ann, 'POST', '/certify?realm=r', body)
  await expect(200, 'certify', certify({ verification_key: pem, claims: ['team'], exclude_sub: true }))
  for (const [what, body] of Object.entries({
    'no key': {},
    'an empty key': { verification_key: '' },
    'no PEM': { verification_key: 'key' },
    'a key that is too long': { verification_key: pem.replace('\n', `\n${'A\n'.repeat(5000)}`) },
    'exclude_sub alone': { verification_key: pem, exclude_sub: true },
    'exclude_sub with a claim that is not there': { verification_key: pem, exclude_sub: true, claims: ['x'] },
  })) {
    await expect(400, what, certify(body))
  }
  await expect(
    401,
    'certify without a session',
    auth.call('POST', '/certify', { json: { verification_key: pem } }),
  )
  const bareCookie = await bare.superCookie()
  const unsigned = { cookie: bareCookie, json: { verification_key: pem } }
  await expect(500, 'certify not configured', bare.call('POST', '/certify?realm=_', unsigned))

  // 4.1 Public
  const version = await expect(200, 'version', auth.call('GET', '/public/version'))
  assert.match(version.headers['content-type'] ?? '', /^text\/plain/)
  await expect(200, 'version', auth.call('GET', '/public/version?_=1764227158'))
  for (const path of ['/.well-known/jwks.json', '/.well-known/certificate-jwks.json']) {
    const { json } = await expect(200, path, auth.call('GET', path))
    for (const member of ['kty', 'crv', 'x', 'y', 'use']) assert.equal(typeof json.keys[0][member], 'string')
    assert.equal('d' in json.keys[0], false)
    assert.deepEqual((await expect(200, path, auth.call('GET', `${path}?_=1764227158`))).json, json)
    await expect(404, path, bare.call('GET', path))
  }

  // 4.4 Sessions
  const id = claims.jti as string
  const clients = [{ username: 'ann', auth_scheme: 'UsernamePassword' }]
  const session = (await expect(200, 'a session', as(ann, 'GET', `/sessions/${id}`))).json
  assert.equal(session.session_id, id)
  assert.equal((await expect(200, 'no session', as(ann, 'GET', `/sessions/${nowhere}`))).json, null)
  const others = { authenticated_clients: clients, sessions_action: 'LogoutOtherSessions' }
  await expect(200, 'act on a session', as(ann, 'POST', `/sessions/${id}`, others))
  await expect(
    400,
    'an unknown action',
    as(ann, 'POST', `/sessions/${id}`, { ...others, sessions_action: 'x' }),
  )
  const ids = await expect(200, 'ids', as(chief, 'POST', '/sessions/realms/r/clients', clients))
  assert.deepEqual(ids.json, { session_ids: [id] })
  await expect(204, 'end expired', asSuper('DELETE', '/sessions/expired'))
  await expect(403, 'end those of a realm, by a user', as(ann, 'DELETE', '/sessions/realms/r'))
  await expect(
    401,
    'end a session, without a session',
    auth.call('DELETE', '/sessions', { json: { session_ids: [id] } }),
  )
  await expect(204, 'end one', as(ann, 'DELETE', '/sessions', { session_ids: [id] }))
  assert.equal((await expect(200, 'it is gone', asSuper('GET', `/sessions/${id}`))).json, null)

  // 4.5 Machines
  const role = '/auth/approle/role/job'
  await expect(204, 'create a role', as(chief, 'POST', role, {}))
  await expect(401, 'without a session', auth.call('POST', role, { json: {} }))
  await expect(403, 'by a user', as(await logIn('r', 'ann'), 'POST', role, {}))
  const { role_id } = (await expect(200, 'role id', as(chief, 'GET', `${role}/role-id`))).json.data
  await expect(404, 'of no role', as(chief, 'GET', '/auth/approle/role/none/role-id'))
  const issued = (await expect(200, 'secret id', as(chief, 'POST', `${role}/secret-id`, { num_uses: 1 })))
    .json
  const { secret_id } = issued.data
  const enter = (json: unknown) => auth.call('PUT', '/auth/approle/login', { json })
  await expect(400, 'a wrong role id', enter({ role_id: nowhere, secret_id }))
  await expect(400, 'a wrong secret id', enter({ role_id, secret_id: nowhere }))
  await expect(400, 'no secret id', enter({ role_id }))
  const machine = (await expect(200, 'a machine', enter({ role_id, secret_id }))).json.auth
  assert.deepEqual(machine.metadata, { role_name: 'job' })
  assert.equal(machine.lease_duration, 3600)
  await expect(403, 'a secret id that is used up', enter({ role_id, secret_id }))
  await expect(204, 'no secret id is needed', as(chief, 'POST', role, { bind_secret_id: false }))
  await expect(200, 'and none is asked for', enter({ role_id }))
  const listed = await expect(200, 'roles', as(chief, 'GET', '/auth/approle/role?list=true'))
  assert.deepEqual(listed.json, { data: { keys: ['job'] } })
  const accessor = { secret_id_accessor: issued.data.secret_id_accessor }
  await expect(204, 'destroy', as(chief, 'POST', `${role}/secret-id/destroy`, accessor))
  const token = { token: machine.client_token }
  await expect(200, 'lookup', auth.call('GET', '/auth/token/lookup-self', token))
  await expect(200, 'renew', auth.call('POST', '/auth/token/renew-self', token))
  await expect(204, 'revoke', auth.call('POST', '/auth/token/revoke-self', token))
  for (const [method, path] of [
    ['GET', '/auth/token/lookup-self'],
    ['POST', '/auth/token/renew-self'],
  ] as const) {
    await expect(403, `${path}, revoked`, auth.call(method, path, token))
    await expect(403, `${path}, missing`, auth.call(method, path))
  }
  const pods = '/auth/orchestrator/role/pods'
  const lists = { bound_service_account_names: ['app'], bound_service_account_namespaces: ['prod'] }
  await expect(204, 'a role of pods', as(chief, 'POST', pods, { jwks_url: `${issuer.url}/keys`, ...lists }))
  const jwt = (name: string) =>
    signToken(
      rsa.privateKey,
      { alg: 'RS256', kid: 'k' },
      { sub: `system:serviceaccount:prod:${name}`, exp: auth.services.now() + 60 },
    )
  const pod = (json: unknown) => auth.call('POST', '/auth/orchestrator/login', { json })
  await expect(200, 'a pod', pod({ role: 'pods', jwt: jwt('app') }))
  await expect(400, 'no role', pod({ role: 'none', jwt: jwt('app') }))
  await expect(400, 'no token', pod({ role: 'pods', jwt: 'a.b.c' }))
  await expect(403, 'another account', pod({ role: 'pods', jwt: jwt('other') }))
  await expect(204, 'delete it', as(chief, 'DELETE', pods))
  await expect(204, 'delete the role', as(chief, 'DELETE', role))

  // 7 Errors: a realm without SAML; missing resources. The status that only SAML has is tested in
  // `methods/saml`.
  for (const path of ['/saml/r/login', '/saml/r/metadata', '/saml/nowhere/login']) {
    await expect(400, path, auth.call('GET', path))
  }
  await expect(404, '/nothing', auth.call('GET', '/nothing'))
  assert.deepEqual(
    [...seen].sort((a, b) => a - b),
    [200, 201, 204, 400, 401, 403, 404, 409, 500],
  )
  rmSync(folder, { recursive: true, force: true })
})
