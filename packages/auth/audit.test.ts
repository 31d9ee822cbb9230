import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  type AuditEvent,
  createOwnEvent,
  openAuditLog,
  preparedCommitMigrations,
  rememberNode,
} from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { migrate } from '@warder/storage'
import { fromBase32 } from './base32.ts'
import { codeAt } from './methods/totp/code.ts'
import { scene } from './testing/scene.ts'
import { knownHash, readCookie, startAuth, type TestService } from './testing/start.ts'

describe('the audit log', () => {
  it('records why a login was refused, which the caller does not learn, and which name and realm were tried', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper } = scene(auth)
    await realm('r')
    await realm('closed', { auth_params: {} })
    await realm('tokens', {
      auth_params: {
        jwt_params: { idp_params: [{ jwt_issuer_uri: 'https://idp', jwks_uri: 'https://idp.invalid/keys' }] },
      },
    })
    await user('r', 'ann')
    await asSuper('POST', '/auth/approle/role/job', {})
    const { role_id } = (await asSuper('GET', '/auth/approle/role/job/role-id')).json.data
    const used = (await asSuper('POST', '/auth/approle/role/job/secret-id', { num_uses: 1 })).json.data
    const secret_id = used.secret_id
    await auth.call('POST', '/auth/approle/login', { json: { role_id, secret_id } })
    const machine = (json: object) => auth.call('POST', '/auth/approle/login', { json })
    const login = (name: string, call: object) => auth.call('POST', `/login?realm=${name}`, call)
    const refusals: Record<string, () => Promise<unknown>> = {
      wrong_password: () => login('r', { basic: 'ann:wrong' }),
      unknown_user: () => login('r', { basic: 'nobody:wrong' }),
      unknown_realm: () => login('nowhere', { basic: 'ann:wrong' }),
      method_not_enabled: () => login('closed', { basic: 'ann:wrong' }),
      no_credentials: () => login('r', {}),
      malformed_credentials: () => login('r', { headers: { authorization: 'Basic !' } }),
      invalid_token: () => login('tokens', { bearer: 'a.b.c' }),
      wrong_role_id: () => machine({ role_id: 'x' }),
      wrong_secret_id: () => machine({ role_id, secret_id: 'x' }),
      exhausted_secret_id: () => machine({ role_id, secret_id }),
      unknown_role: () =>
        auth.call('POST', '/auth/orchestrator/login', { json: { role: 'x', jwt: 'a.b.c' } }),
    }
    for (const [reason, call] of Object.entries(refusals)) {
      const before = auth.events.length
      await call()
      const [event, ...more] = auth.events.slice(before)
      assert.equal(more.length, 0, `${reason}: one record`)
      assert.equal(event?.reason, reason)
      assert.deepEqual([event?.outcome, event?.principal], ['failure', 'unauthenticated'], reason)
    }
    const places = auth.events.filter(({ operation }) => operation === 'login').map(({ realm: at }) => at)
    assert.ok(['r', 'nowhere', 'closed', 'tokens'].every((name) => places.includes(name)))
    // A password typed into the name field would be kept for years: an invalid user name is not recorded.
    await login('r', { basic: ' my password is:oops' })
    assert.equal(auth.events.at(-1)?.object, undefined)
  })

  it('records the actor, the operation, and the values before and after of each change, never a secret', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, admin, asSuper, as } = scene(auth)
    const ages = { session_max_age_seconds: 50, session_max_stale_age_seconds: 50 }
    await realm('r')
    await asSuper('PUT', '/admins/realms/r', {
      ...ages,
      auth_params: { username_password_params: { allow_expired_passwords: true } },
    })
    await user('r', 'ann')
    await asSuper('PUT', '/realms/r/userpass/ann', {
      password_input: { plaintext: 'plain secret one' },
      roles: ['dev'],
    })
    await admin('ann', ['r'], { userpass: 'ann' })
    await asSuper('DELETE', '/admins/ann/realms/r')
    await asSuper('POST', '/auth/approle/role/job', { token_ttl: 5 })
    await asSuper('POST', '/auth/approle/role/job', { token_ttl: 6 })
    const made = await asSuper('POST', '/realms/r/totp/generate', { username: 'ann' })
    const totp = made.json.secret_base32 as string
    const code = codeAt(fromBase32(totp) ?? Buffer.alloc(0), Math.floor(auth.services.now() / 30), 'SHA1')
    await asSuper('POST', '/realms/r/totp/verify', { username: 'ann', token: code, secret: totp })
    await asSuper('DELETE', '/realms/r/totp/ann')
    const { role_id } = (await asSuper('GET', '/auth/approle/role/job/role-id')).json.data
    const issued = (await asSuper('POST', '/auth/approle/role/job/secret-id', {})).json.data
    const { secret_id } = issued
    const machine = await auth.call('POST', '/auth/approle/login', { json: { role_id, secret_id } })
    const token = machine.json.auth.client_token as string
    await auth.call('POST', '/auth/token/renew-self', { token })
    await auth.call('POST', '/auth/token/revoke-self', { token })
    const login = await auth.call('POST', '/login?realm=r', { basic: 'ann:plain secret one' })
    const cookie = readCookie(login)
    const change = { basic: 'ann:plain secret one', json: { new_password: 'plain secret two' } }
    assert.equal((await auth.call('POST', '/password?realm=r', change)).status, 204)
    await as(cookie, 'GET', '/whoami')
    await asSuper('DELETE', '/sessions/realms/r')
    await asSuper('DELETE', '/realms/r/userpass/ann')
    await asSuper('DELETE', '/auth/approle/role/job')
    await asSuper('DELETE', '/admins/realms/r')

    const of = (operation: string) => auth.events.filter((event) => event.operation === operation)
    const details = (operation: string, at = -1) =>
      of(operation).at(at)?.details as { before?: Record<string, unknown>; after?: Record<string, unknown> }
    assert.equal(details('realms.replace').before?.session_max_age_seconds, 3600)
    assert.equal(details('realms.replace').after?.session_max_age_seconds, 50)
    assert.deepEqual(details('credentials.replace').before?.roles, [])
    assert.deepEqual(details('credentials.replace').after?.roles, ['dev'])
    assert.deepEqual(
      [details('admins.remove_realm').before?.realms, details('admins.remove_realm').after?.realms],
      [['r'], []],
    )
    assert.deepEqual(
      [details('approle.role.save').before?.tokenTtl, details('approle.role.save').after?.tokenTtl],
      [5, 6],
    )
    assert.equal(details('approle.role.delete').before?.name, 'job')
    assert.equal(details('realms.delete').before?.id, 'r')
    const names = [
      ...['realms.create', 'realms.replace', 'realms.delete', 'credentials.create', 'credentials.replace'],
      ...['credentials.delete', 'admins.create', 'admins.remove_realm', 'totp.generate', 'totp.verify'],
      ...['totp.disable', 'approle.role.save', 'approle.secret_id.create', 'approle.role.delete'],
      'sessions.end_realm',
    ]
    for (const name of names) {
      const event = of(name).at(-1)
      assert.deepEqual([event?.principal, event?.outcome], ['admin', 'success'], name)
    }
    for (const name of ['approle.login', 'token.renew_self', 'token.revoke_self']) {
      assert.equal(of(name).at(-1)?.principal, 'job', name)
    }
    assert.deepEqual(
      [of('password.change').at(-1)?.principal, of('password.change').at(-1)?.realm],
      ['ann', 'r'],
    )
    assert.equal(of('login').at(-1)?.object, login.json.session_id)
    const text = JSON.stringify(auth.events) + auth.logged.join('\n')
    const secrets = ['plain secret', 'correct horse', knownHash, '$argon2', totp, secret_id, token, cookie]
    for (const secret of secrets) assert.ok(!text.includes(secret), secret)
    assert.ok(text.includes(issued.secret_id_accessor), 'by which a secret id is known')
  })
})

/** Writes records to the log that the service reads; its own ones go to memory. */
async function writeLog(
  { home, environment }: TestService,
  events: readonly Partial<AuditEvent>[],
): Promise<void> {
  const log = await openAuditLog({
    ...{ folder: join(home, 'audit', 'auth'), service: 'auth', mode: 'continue', node: environment.node },
    ...{ rotateBytes: 1_000_000, clock: systemClock, log: quietLog, seal: environment.seal },
  })
  for (const event of events) log.trail.record({ ...createOwnEvent(Date.now(), 'login'), ...event })
  await log.trail.flush()
  await log.whenIdle()
  await log.close()
}

const logins = (realm: string, offset: number): readonly Partial<AuditEvent>[] =>
  Array.from({ length: 20 }, (_, index) => ({
    ...{ realm, principal: 'ann', request_id: `${realm}-${index}` },
    time: Date.parse('2026-01-01T00:00:00Z') + index * 2000 + offset,
  }))

describe('the search of the audit log', () => {
  it('is for super administrators: of all realms, with their filters in its record', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, admin, as, asSuper, logIn } = scene(auth)
    await realm('r')
    for (const name of ['ann', 'chief']) await user('r', name)
    await admin('chief', ['r'], { userpass: 'chief' })
    await writeLog(auth, logins('r', 0))
    const found = await asSuper('GET', '/v1/audit/records?operation=login&request_id=r-7')
    assert.deepEqual([found.status, found.json.records.length, found.json.records[0].realm], [200, 1, 'r'])
    const path = '/v1/audit/records?principal=ann&limit=15'
    const page = await asSuper('GET', path)
    const next = await asSuper('GET', `${path}&after=${page.headers['x-next-after']}`)
    assert.deepEqual([page.json.records.length, next.json.records.length], [15, 5])
    const csv = await asSuper('GET', '/v1/audit/export?principal=ann&format=csv')
    assert.equal(csv.text.trimEnd().split('\r\n').length, 21)
    const verified = (await asSuper('GET', '/v1/audit/verify')).json
    assert.deepEqual([verified.ok, verified.nodes[0].records], [true, 21])

    const ways = ['records', 'export', 'verify'].map((name) => `/v1/audit/${name}`)
    for (const [cookie, status] of [
      [await logIn('r', 'ann'), 403],
      [await logIn('r', 'chief'), 403],
      ['', 401],
    ] as const)
      for (const way of ways) assert.equal((await as(cookie, 'GET', way)).status, status, way)
    await asSuper('POST', '/auth/approle/role/job', {
      token_policies: ['machine-roles-admin'],
      bind_secret_id: false,
    })
    const { role_id } = (await asSuper('GET', '/auth/approle/role/job/role-id')).json.data
    const { client_token: token } = (await auth.call('POST', '/auth/approle/login', { json: { role_id } }))
      .json.auth
    for (const way of ways)
      assert.ok([401, 403].includes((await auth.call('GET', way, { token })).status), way)
    const reads = auth.events.filter(({ operation }) => operation === 'audit.records')
    assert.deepEqual(
      reads.map(({ principal, status, details }) => [principal, status, details?.query]).slice(0, 4),
      [
        ['admin', 200, { operation: 'login', request_id: 'r-7' }],
        ['admin', 200, { principal: 'ann', limit: '15' }],
        ['admin', 200, { principal: 'ann', limit: '15', after: page.headers['x-next-after'] }],
        ['ann', 403, {}],
      ],
    )
  })

  it('asks the other nodes of the installation, and names those that do not answer', async () => {
    // Outside of the homes, as a database that nodes share.
    const config = { database_url: 'sqlite:/elsewhere/auth.db' } as object
    await using near = await startAuth({ adminPassword: 'correct horse', config })
    await migrate(near.db, 'audit', preparedCommitMigrations)
    const ca = join(near.home, 'ca.pem')
    writeFileSync(ca, near.authority.certificatePem)
    Object.assign(near.environment.config, { outbound_ca_file: ca })
    const { asSuper } = scene(near)
    const remember = (node: string, home: string, address: string) =>
      near.db.commit(
        rememberNode({ log: `${node}:${home}`, node, address }, Date.now(), near.environment.seal),
      )
    {
      await using far = await near.beside('far')
      await remember('test', near.home, '')
      await remember('far', far.home, `https://localhost:${far.port}`)
      await writeLog(near, logins('near', 0))
      await writeLog(far, logins('far', 1000))
      const { json } = await asSuper('GET', '/v1/audit/records?principal=ann')
      assert.deepEqual(
        json.nodes.map(({ node, answered }: { node: string; answered: boolean }) => [node, answered]),
        [
          ['far', true],
          ['test', true],
        ],
      )
      assert.deepEqual(json.records.map(({ request_id: id }: AuditEvent) => id).slice(0, 4), [
        'far-19',
        'near-19',
        'far-18',
        'near-18',
      ])
      assert.equal(json.records.length, 40)
      assert.equal((await near.call('POST', '/v1/audit/node', { json: { type: 'verify' } })).status, 401)
      assert.equal(far.events.filter(({ operation }) => operation === 'audit.node').length, 1)
    }
    const { json } = await asSuper('GET', '/v1/audit/records?principal=ann')
    assert.deepEqual([json.records.length, json.nodes[0].answered], [20, false])
    assert.equal((await asSuper('GET', '/v1/audit/export')).status, 502)
    assert.equal((await asSuper('DELETE', '/v1/audit/nodes/far')).status, 204)
    assert.equal((await asSuper('GET', '/v1/audit/export')).status, 200)
  })
})
