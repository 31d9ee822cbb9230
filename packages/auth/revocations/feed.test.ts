import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createInlineKeySet, verifyToken } from '@warder/server'
import { fromBase32 } from '../base32.ts'
import { samlParams, toAcsUrl, toSpEntityId } from '../methods/saml/testing/saml-scene.ts'
import { sharedKey, TestIdp } from '../methods/saml/testing/test-idp.ts'
import { codeAt } from '../methods/totp/code.ts'
import { recoverAdmin } from '../recover.ts'
import { scene } from '../testing/scene.ts'
import { peerSecret, startAuth, type TestService } from '../testing/start.ts'
import { sweepFeed } from './feed-store.ts'

type Entry = readonly [
  seq: number,
  kind: string,
  subject: string,
  until: number,
  at?: number,
  realm?: string,
  username?: string,
  reason?: string,
]
interface Page {
  readonly after: number
  readonly last: number
  readonly head: number
  readonly entries: readonly Entry[]
}

const peer = { 'x-warder-peer': peerSecret }
const nonce = 'n'.repeat(24)

function follow(auth: TestService, after: number, wait = 0, follower: string = randomUUID()) {
  const query = `follower=${follower}&after=${after}&nonce=${nonce}&wait=${wait}`
  return auth.call('GET', `/ended?${query}`, { headers: peer })
}

const page = async (auth: TestService, after = 0): Promise<Page> => (await follow(auth, after)).json
const kinds = async (auth: TestService, after = 0) =>
  (await page(auth, after)).entries.map(([, kind, subject, , , realm, username, reason]) =>
    kind === 'session' ? [kind] : [kind, subject, realm, username, reason],
  )

describe('the revocation feed', () => {
  it('serves only services of the installation, and validates their requests', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const good = `follower=${randomUUID()}&after=0&nonce=${nonce}`
    assert.equal((await auth.call('GET', `/ended?${good}`)).status, 401)
    const wrong = { 'x-warder-peer': `${peerSecret}x` }
    assert.equal((await auth.call('GET', `/ended?${good}`, { headers: wrong })).status, 401)
    const cookie = await auth.superCookie()
    assert.equal((await auth.call('GET', `/ended?${good}`, { cookie })).status, 401, 'no user reads it')
    for (const query of [
      '',
      'after=0',
      `${good}&wait=21`,
      `${good}&acknowledged=-1`,
      good.replace('after=0', 'after=-1'),
      good.replace('nnn', '!'),
    ])
      assert.equal((await auth.call('GET', `/ended?${query}`, { headers: peer })).status, 400, query)
  })

  it('answers a subscriber that waits, however many other requests announce nothing new', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    const follower = randomUUID()
    const { head } = (await follow(auth, 0, 0, follower)).json
    let isAnswered = false
    const waiting = follow(auth, head, 1, follower).finally(() => {
      isAnswered = true
    })
    // Each reply announces that there may be an entry; the subscriber waits for one second.
    for (let count = 0; count < 60 && !isAnswered; count += 1) {
      await asSuper('DELETE', '/sessions', { session_ids: ['unknown'] })
      await sleep(100)
    }
    assert.ok(isAnswered, 'the announcements do not prolong the wait')
    assert.deepEqual((await waiting).json.entries, [])
  })

  it('lists revocations in commit order, in the commit that revokes, and signs each page', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const first = await logIn('r', 'ann')
    const claims = (await as(first, 'GET', '/whoami')).json
    const second = await logIn('r', 'ann')
    assert.equal((await as(second, 'GET', '/whoami')).json.as_sid, claims.as_sid, 'one person')

    await asSuper('DELETE', '/sessions', { session_ids: [claims.jti, 'unknown'] })
    // The first entry announces her password.
    const answer = await follow(auth, 1)
    const one: Page = answer.json
    assert.deepEqual(one.entries, [[2, 'session', claims.jti, claims.exp]])
    assert.deepEqual([one.after, one.last, one.head], [1, 2, 2])
    const keys = createInlineKeySet((await auth.call('GET', '/.well-known/jwks.json')).json)
    const expected = { issuer: undefined, audience: undefined, requiredClaims: [], leewaySeconds: 0 }
    const statement = await verifyToken(
      String(answer.headers['x-warder-statement']),
      keys,
      expected,
      auth.clock,
    )
    assert.deepEqual(
      [statement.claims.aud, statement.claims.nonce, statement.claims.last, statement.claims.sha256],
      ['warder:ended', nonce, 2, hash('sha256', answer.text, 'base64url')],
    )

    await asSuper('PUT', '/realms/r/userpass/ann', { password_input: { plaintext: 'correct horse' } })
    assert.deepEqual(await kinds(auth, 2), [
      ['credential', '', 'r', 'ann', 'credential_set'],
      ['session'],
      ['logins', '', 'r', 'ann', 'password_changed'],
    ])
    await logIn('r', 'ann')
    const { head } = await page(auth)
    await asSuper('DELETE', '/realms/r/userpass/ann')
    assert.deepEqual(await kinds(auth, head), [
      ['person', claims.as_sid, 'r', 'ann', 'deleted'],
      ['session'],
      ['logins', '', 'r', 'ann', 'deleted'],
    ])
    const numbers = (await page(auth)).entries.map(([seq]) => seq)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    )
    // A refused request and one that matched no session add no entry.
    const before = (await page(auth)).head
    assert.equal((await asSuper('DELETE', '/realms/r/userpass/ann')).status, 204)
    assert.equal(
      (await auth.call('DELETE', '/sessions', { json: { session_ids: [claims.jti] } })).status,
      401,
    )
    assert.equal((await page(auth)).head, before)
  })

  it('announces every credential by which another person can act under a name', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper } = scene(auth)
    await realm('r')
    const told = async (method: string, path: string, json?: object): Promise<string[]> => {
      const { head } = await page(auth)
      const { status, text } = await asSuper(method, path, json)
      assert.ok(status < 300, text)
      const entries = (await page(auth, head)).entries
      const set = entries.filter(([, kind]) => kind === 'credential' || kind === 'credentials')
      return set.map(([, , , , , inRealm, username]) => `${inRealm}/${username}`).sort()
    }
    // A password for a name that may already belong to a provider, or to a certificate at another service.
    const password_input = { plaintext: 'correct horse' }
    assert.deepEqual(await told('POST', '/realms/r/userpass', { username: 'ann', password_input }), ['r/ann'])
    assert.deepEqual(await told('PUT', '/realms/r/userpass/ann', { roles: ['x'] }), [], 'no credential')
    await user('r', 'bob')

    const { json: plain } = await asSuper('GET', '/admins/realms/r')
    const having = (auth_params: object) => ({
      ...plain,
      auth_params: { ...plain.auth_params, ...auth_params },
    })
    const provider = (name: string) => ({
      jwt_params: {
        idp_params: [{ jwt_issuer_uri: `https://${name}.test`, jwks_uri: `https://${name}.test/k` }],
      },
    })
    const certificates = { client_certificate_params: { allowed_common_names: ['ann'] } }
    const path = '/admins/realms/r'
    assert.deepEqual(await told('PUT', path, { ...plain, session_max_age_seconds: 60 }), [])
    assert.deepEqual(await told('PUT', path, having(provider('one'))), ['r/'])
    assert.deepEqual(await told('PUT', path, having(provider('one'))), [], 'the same')
    assert.deepEqual(await told('PUT', path, having(provider('two'))), ['r/'])
    assert.deepEqual(await told('PUT', path, having(certificates)), ['r/'])
    assert.deepEqual(await told('POST', '/admins/realms', { ...having(provider('one')), id: 's' }), ['s/'])

    const admin = { id: 'chief', realms: ['r'], userpass: 'chief' }
    assert.deepEqual(await told('POST', '/admins', admin), ['_/chief', 'r/chief'])
    const put = (more: object) => told('PUT', '/admins/chief', { ...admin, ...more })
    assert.deepEqual(await put({}), [])
    assert.deepEqual(await put({ client_certificate: 'ann' }), ['_/ann', 'r/ann'])
    assert.deepEqual(await put({ client_certificate: 'a'.repeat(64) }), ['_/', '_/ann', 'r/', 'r/ann'])
    assert.deepEqual(await put({ jwt: 'bob' }), ['_/', '_/bob', 'r/', 'r/bob'])
    assert.deepEqual(await told('PUT', '/admins/chief/realms/s'), ['s/bob', 's/chief'])
    assert.deepEqual(await told('DELETE', '/admins/chief'), [
      '_/bob',
      '_/chief',
      'r/bob',
      'r/chief',
      's/bob',
      's/chief',
    ])
  })

  it('announces second factors, SAML settings and the recovery of an administrator', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const set = async (change: () => Promise<unknown>): Promise<readonly unknown[]> => {
      const { head } = await page(auth)
      await change()
      const { entries } = await page(auth, head)
      return entries
        .filter(([, kind]) => kind === 'credential' || kind === 'credentials')
        .map(([, kind, , , , inRealm, username, reason]) => [kind, inRealm, username, reason])
    }
    const told = (method: string, path: string, json?: object) =>
      set(async () => {
        const { status, text } = await asSuper(method, path, json)
        assert.ok(status < 300, text)
      })
    const ofAnn = [['credential', 'r', 'ann', 'credential_set']]
    const { json } = await asSuper('POST', '/realms/r/totp/generate', { username: 'ann' })
    const secret: string = json.secret_base32
    const enroll = (shift: number) => {
      const step = Math.floor(auth.services.now() / 30) + shift
      const token = codeAt(fromBase32(secret) ?? Buffer.alloc(0), step, 'SHA1')
      return { username: 'ann', secret, token }
    }
    assert.deepEqual(await told('POST', '/realms/r/totp/verify', enroll(0)), ofAnn)
    assert.deepEqual(await told('POST', '/realms/r/totp/verify', enroll(1)), ofAnn, 'another one')
    const wrong = await set(() => asSuper('POST', '/realms/r/totp/verify', enroll(9)))
    assert.deepEqual(wrong, [], 'a code that is refused enrols nothing')
    assert.deepEqual(await told('DELETE', '/realms/r/totp/ann'), ofAnn)
    assert.deepEqual(await told('DELETE', '/realms/r/totp/ann'), [], 'nothing is removed')

    const ofRealm = [['credentials', 'r', '', 'credential_set']]
    const { json: plain } = await asSuper('GET', '/admins/realms/r')
    const place = { spEntityId: toSpEntityId('r'), acsUrl: toAcsUrl('r') }
    const idp = new TestIdp({ key: await sharedKey('idp'), ...place })
    const put = (members: object) =>
      told('PUT', '/admins/realms/r', {
        ...plain,
        auth_params: { ...plain.auth_params, saml_params: samlParams(idp, 'r', { ...members }) },
      })
    assert.deepEqual(await put({}), ofRealm)
    assert.deepEqual(await put({}), [], 'the same')
    const { certificate } = await sharedKey('another')
    const metadata_xml = idp.metadata({ certificates: [certificate] })
    assert.deepEqual(await put({ metadata_xml }), ofRealm, 'another key of the identity provider')
    assert.deepEqual(await told('PUT', '/admins/realms/r', plain), ofRealm, 'taken away')
    // A recreated realm has other users, whatever its login methods.
    assert.deepEqual(await told('DELETE', '/admins/realms/r'), [])
    const password_input = { plaintext: 'correct horse' }
    await realm('r')
    assert.deepEqual(await told('POST', '/realms/r/userpass', { username: 'ann', password_input }), ofAnn)

    const { db, seal, config } = auth.services
    const recovered = await set(() =>
      recoverAdmin({
        ...{ db, seal, config, now: auth.services.now() * 1000, id: 'admin', by: 'root' },
        ...{ password: 'another correct horse', changePassword: false, removeTotp: false },
      }),
    )
    assert.deepEqual(recovered, [['credential', '_', 'admin', 'credential_set']])
  })

  it('a recreated user is another person', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as, asSuper } = scene(auth)
    await realm('r')
    const ids = new Set<string>()
    for (let round = 0; round < 3; round++) {
      await user('r', 'ann')
      ids.add((await as(await logIn('r', 'ann'), 'GET', '/whoami')).json.as_sid)
      await asSuper('DELETE', '/realms/r/userpass/ann')
    }
    assert.equal(ids.size, 3)
    // A user who never logged in has an entry, too: grants may contain the name.
    await user('r', 'bob')
    const { head } = await page(auth)
    await asSuper('DELETE', '/realms/r/userpass/bob')
    assert.deepEqual((await kinds(auth, head))[0], ['person', '', 'r', 'bob', 'deleted'])
  })

  it('announces the end of machines, roles and realms', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const token = async (name: string) => {
      const { role_id } = (await asSuper('GET', `/auth/approle/role/${name}/role-id`)).json.data
      const login = await auth.call('POST', '/auth/approle/login', { json: { role_id } })
      return { token: login.json.auth.client_token, role_id }
    }
    await asSuper('POST', '/auth/approle/role/ci', { bind_secret_id: false })
    const one = await token('ci')
    await auth.call('POST', '/auth/token/revoke-self', { token: one.token })
    assert.deepEqual(await kinds(auth, 1), [['machine', 'ci', '_', '', 'revoked']])
    await token('ci')
    await asSuper('DELETE', '/auth/approle/role/ci')
    assert.deepEqual(await kinds(auth, 2), [
      ['machine', 'ci', '_', '', 'role_deleted'],
      ['role', 'ci', '_', one.role_id, 'role_deleted'],
    ])
    await asSuper('POST', '/auth/approle/role/worker?realm=r', { bind_secret_id: false })
    await token('worker')
    await logIn('r', 'ann')
    const { head } = await page(auth)
    await asSuper('DELETE', '/admins/realms/r')
    const ended = (await kinds(auth, head)).map(([kind, , , username]) => [kind, username])
    assert.deepEqual(
      ended.map(([kind]) => kind),
      ['person', 'machine', 'role', 'session', 'realm'],
    )
  })

  it('a request waits for the next entry, and a reply waits for the subscribers', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const { jti } = (await as(await logIn('r', 'ann'), 'GET', '/whoami')).json
    const follower = randomUUID()
    const waiting = follow(auth, 1, 20, follower)
    // The entry is available before the reply to the revocation.
    await new Promise((resolve) => setTimeout(resolve, 100))
    let told = false
    const ended = asSuper('DELETE', '/sessions', { session_ids: [jti] }).then(() => {
      told = true
    })
    const { entries } = (await waiting).json as Page
    assert.equal(entries[0]?.[2], jti)
    assert.equal(told, false, 'the reply waits until the entry is acknowledged')
    await follow(auth, 2, 0, follower)
    await ended
    // A reply waits only once for a subscriber that has gone, and at most for the lease.
    const other = (await as(await logIn('r', 'ann'), 'GET', '/whoami')).json.jti
    const began = performance.now()
    await asSuper('DELETE', '/sessions', { session_ids: [other] })
    assert.ok(performance.now() - began < 5000)
  })

  it('two subscribers get every entry, and a reply waits for both', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, as, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const { jti } = (await as(await logIn('r', 'ann'), 'GET', '/whoami')).json
    const nodes = [randomUUID(), randomUUID()]
    const waiting = nodes.map((node) => follow(auth, 1, 20, node))
    await new Promise((resolve) => setTimeout(resolve, 100))
    const acknowledged: string[] = []
    const ended = asSuper('DELETE', '/sessions', { session_ids: [jti] }).then(() => acknowledged.length)
    for (const answer of await Promise.all(waiting))
      assert.deepEqual(
        (answer.json as Page).entries.map(([, , id]) => id),
        [jti],
      )
    for (const node of nodes) {
      acknowledged.push(node)
      await follow(auth, 2, 0, node)
    }
    assert.equal(await ended, 2)
  })

  it('a subscriber that is ahead gets an answer at once, and old entries are swept', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn, asSuper } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await logIn('r', 'ann')
    await asSuper('DELETE', '/sessions/realms/r')
    const ahead: Page = (await follow(auth, 99, 20)).json
    assert.deepEqual([ahead.head, ahead.last, ahead.entries], [3, 99, []])
    const now = Math.floor(auth.clock.now() / 1000)
    assert.equal(await sweepFeed(auth.db.commit, now), 0)
    assert.equal(await sweepFeed(auth.db.commit, now + 3600 + 700), 1, 'the session')
    assert.equal(await sweepFeed(auth.db.commit, now + 90_000), 1, 'the logins')
    assert.equal((await page(auth)).head, 3, 'numbers are never used again')
  })

  it('two nodes share one feed, whose numbers are unique', async () => {
    await using near = await startAuth({ adminPassword: 'correct horse' })
    await using far = await near.beside()
    const here = scene(near)
    await here.realm('r')
    const names = Array.from({ length: 8 }, (_, index) => `user${index}`)
    for (const name of names) await here.user('r', name)
    await Promise.all(names.map((name) => here.logIn('r', name)))
    const waiting = follow(far, 8, 20)
    const cookie = await near.superCookie()
    await Promise.all(
      names.map((name, index) =>
        (index % 2 === 0 ? near : far).call('DELETE', `/realms/r/userpass/${name}`, { cookie }),
      ),
    )
    assert.ok(((await waiting).json as Page).entries.length > 0, 'heard from the other node')
    const { entries, head } = await page(far)
    assert.deepEqual(
      entries.map(([seq]) => seq),
      Array.from({ length: 32 }, (_, index) => index + 1),
    )
    assert.equal(head, 32)
    assert.equal(entries.filter(([, kind]) => kind === 'person').length, 8)
  })
})
