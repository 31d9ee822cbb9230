import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { query } from '@warder/storage'
import { formatKeySet, signToken, startIssuer, type TestIssuer } from '../../testing/issuer.ts'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth, type TestService, testAuthority } from '../../testing/start.ts'

const [one, two] = ['https://one.example', 'https://two.example'] as const
const keys: Readonly<Record<string, { readonly publicKey: KeyObject; readonly privateKey: KeyObject }>> = {
  [one]: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  [two]: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}
/** Counts sessions of an identity provider under a name that belongs to another one: there must never be any. */
const strays = query<[], { readonly rows: number }>(
  `SELECT COUNT(*) AS rows FROM session s WHERE s.auth_scheme = 'jwt' AND NOT EXISTS
     (SELECT 1 FROM jwt_subject j WHERE j.realm_id = s.realm_id AND j.subject = s.username)`,
)

describe('the names of a realm with two identity providers (A12)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-names-'))
  let issuer: TestIssuer
  let auth: TestService

  before(async () => {
    issuer = await startIssuer(await testAuthority(), folder)
    issuer.serve('/one', { body: formatKeySet({ key: key(one).publicKey, kid: 'k' }) })
    issuer.serve('/two', { body: formatKeySet({ key: key(two).publicKey, kid: 'k' }) })
    auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
  })
  after(async () => {
    const left = await auth.db.get(strays, [])
    await auth[Symbol.asyncDispose]()
    await issuer[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
    assert.equal(Number(left?.rows), 0)
  })

  const key = (iss: string) => {
    const pair = keys[iss]
    assert.ok(pair)
    return pair
  }
  const realmOf = (...issuers: readonly string[]) => ({
    auth_params: {
      jwt_params: {
        idp_params: issuers.map((jwt_issuer_uri) => ({
          jwt_issuer_uri,
          jwks_uri: `${issuer.url}/${jwt_issuer_uri === one ? 'one' : 'two'}`,
        })),
      },
    },
    session_max_age_seconds: 3600,
    session_max_stale_age_seconds: 600,
  })
  const logIn = (realm: string, iss: string, sub = 'ann') =>
    auth.call('POST', `/login?realm=${realm}`, {
      bearer: signToken(
        key(iss).privateKey,
        { alg: 'ES256', kid: 'k' },
        { iss, sub, exp: auth.services.now() + 300 },
      ),
    })
  const who = async (cookie: string) => (await auth.call('GET', '/whoami', { cookie })).status
  const asSuper = (method: string, path: string, json?: unknown) => scene(auth).asSuper(method, path, json)
  const lastLogin = () => auth.events.findLast(({ operation }) => operation === 'login')

  it('belong to one provider each: the first user gets the name, and the user of the other provider is refused', async () => {
    await scene(auth).realm('first', realmOf(one, two))
    const ann = readCookie(await logIn('first', one))
    const other = await logIn('first', two)
    assert.equal(other.status, 401)
    assert.equal(other.headers['set-cookie'], undefined)
    const event = lastLogin()
    assert.deepEqual(
      [event?.reason, event?.object, event?.details?.issuer, event?.principal],
      ['subject_of_another_provider', 'ann', two, 'unauthenticated'],
    )
    const { exp: _, ...wrong } = (await logIn('first', two, ' ann')).json
    assert.deepEqual(
      other.json.error ?? other.json,
      wrong.error ?? wrong,
      'the same answer as to every refused login',
    )
    assert.equal((await logIn('first', two, 'bob')).status, 200)
    assert.equal((await logIn('first', one, 'bob')).status, 401)
    assert.equal((await logIn('first', one)).status, 200, 'again and again')
    assert.equal(await who(ann), 200)
    // In another realm, and among users with passwords, the name is independent.
    await scene(auth).realm('second', realmOf(two))
    assert.equal((await logIn('second', two)).status, 200)
  })

  it('are assigned to one provider when both log in concurrently', async () => {
    await scene(auth).realm('race', realmOf(one, two))
    for (let round = 0; round < 10; round++) {
      const issuers = Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? one : two))
      const answers = await Promise.all(issuers.map((iss) => logIn('race', iss, `u${round}`)))
      const winners = new Set(issuers.filter((_, index) => answers[index]?.status === 200))
      assert.equal(winners.size, 1, answers.map(({ status }) => status).join())
      for (const [index, iss] of issuers.entries()) {
        assert.equal(answers[index]?.status, winners.has(iss) ? 200 : 401)
      }
    }
  })

  it('require no second factor from the wrong provider, and count no failures for the right one', async () => {
    await scene(auth).realm('factor', realmOf(one, two))
    assert.equal((await logIn('factor', one)).status, 200)
    for (let attempt = 0; attempt < 12; attempt++) assert.equal((await logIn('factor', two)).status, 401)
    assert.equal((await logIn('factor', one)).status, 200)
  })

  it('are listed, reassigned and released by the administrator of the realm, which ends sessions', async () => {
    await scene(auth).realm('moved', realmOf(one, two))
    const at = '/realms/moved/jwt-subjects'
    const ann = readCookie(await logIn('moved', one))
    const bob = readCookie(await logIn('moved', one, 'bob/of the shop'))
    const listed = (await asSuper('GET', at)).json
    const made = auth.services.now()
    assert.deepEqual(
      listed.map(({ created_at, ...rest }: { created_at: number }) => [rest, made - created_at < 60]),
      ['ann', 'bob/of the shop'].map((subject) => [{ subject, jwt_issuer_uri: one, assigned: false }, true]),
    )
    const page = (await asSuper('GET', `${at}?limit=1&after=ann`)).json
    assert.deepEqual(page, listed.slice(1))

    const moved = await asSuper('PUT', `${at}/ann`, { jwt_issuer_uri: two })
    assert.equal(moved.status, 200, moved.text)
    assert.deepEqual([moved.json.jwt_issuer_uri, moved.json.assigned], [two, true])
    const { details } = auth.events.findLast(({ operation }) => operation === 'jwt_subjects.assign') ?? {}
    assert.deepEqual(
      [details?.before, details?.after].map((side) => (side as { jwt_issuer_uri: string }).jwt_issuer_uri),
      [one, two],
    )
    assert.equal(await who(ann), 401, 'the one who had it is out')
    assert.equal(await who(bob), 200)
    assert.equal((await logIn('moved', one)).status, 401)
    const second = readCookie(await logIn('moved', two))
    assert.equal((await asSuper('PUT', `${at}/ann`, { jwt_issuer_uri: two })).status, 200)
    assert.equal(await who(second), 200, 'given to who has it: nothing ends')

    for (const free of [1, 2]) {
      assert.equal((await asSuper('DELETE', `${at}/ann`)).status, 204, `time ${free}`)
      assert.equal(await who(second), 401)
    }
    assert.equal((await logIn('moved', one)).status, 200)
    assert.equal((await asSuper('DELETE', `${at}/${encodeURIComponent('bob/of the shop')}`)).status, 204)
    assert.equal(await who(bob), 401)
  })

  it('are assigned only to a provider of the realm, by an administrator of it', async () => {
    const { realm, user, admin, logIn: withPassword, as } = scene(auth)
    await realm('strict', {
      auth_params: {
        ...realmOf(one).auth_params,
        username_password_params: { allow_expired_passwords: false },
      },
    })
    await realm('other')
    for (const name of ['chief', 'nobody']) await user('strict', name)
    await user('other', 'stranger')
    await admin('chief', ['strict'], { userpass: 'chief' })
    await admin('stranger', ['other'], { userpass: 'stranger' })
    const [chief, nobody, stranger] = [
      await withPassword('strict', 'chief'),
      await withPassword('strict', 'nobody'),
      await withPassword('other', 'stranger'),
    ]
    const at = '/realms/strict/jwt-subjects'
    for (const [body, status] of [
      [{ jwt_issuer_uri: two }, 400],
      [{ jwt_issuer_uri: `${one}/` }, 400],
      [{ jwt_issuer_uri: [one] }, 400],
      [{}, 400],
      [{ jwt_issuer_uri: one }, 200],
    ] as const) {
      const answer = await as(chief, 'PUT', `${at}/ann`, body)
      assert.equal(answer.status, status, answer.text)
    }
    for (const name of ['%20ann', 'ann%00', 'x'.repeat(257), 'e%CC%81']) {
      assert.equal((await as(chief, 'PUT', `${at}/${name}`, { jwt_issuer_uri: one })).status, 400, name)
    }
    for (const cookie of [nobody, stranger]) {
      assert.equal((await as(cookie, 'GET', at)).status, 403)
      assert.equal((await as(cookie, 'PUT', `${at}/ann`, { jwt_issuer_uri: one })).status, 403)
      assert.equal((await as(cookie, 'DELETE', `${at}/ann`)).status, 403)
    }
    for (const [method, body] of [['GET'], ['PUT', { jwt_issuer_uri: one }], ['DELETE']] as const) {
      const path = method === 'GET' ? at : `${at}/ann`
      assert.equal((await auth.call(method, path, { json: body })).status, 401)
    }
    assert.equal((await asSuper('GET', '/realms/nowhere/jwt-subjects')).status, 404)
    assert.equal(
      (await asSuper('PUT', '/realms/nowhere/jwt-subjects/ann', { jwt_issuer_uri: one })).status,
      404,
    )
    assert.equal((await asSuper('DELETE', '/realms/nowhere/jwt-subjects/ann')).status, 204)
    assert.equal((await as(chief, 'GET', at)).json.length, 1)
  })

  it('are removed with their sessions when the realm no longer lists the provider, and with the realm', async () => {
    await scene(auth).realm('dropped', realmOf(one, two))
    const [ann, bob] = [
      readCookie(await logIn('dropped', one)),
      readCookie(await logIn('dropped', two, 'bob')),
    ]
    const replace = (...issuers: string[]) => asSuper('PUT', '/admins/realms/dropped', realmOf(...issuers))
    const names = async () =>
      (await asSuper('GET', '/realms/dropped/jwt-subjects')).json.map(
        (row: { subject: string }) => row.subject,
      )
    assert.equal((await replace(two, one)).status, 200)
    assert.deepEqual([await who(ann), await who(bob)], [200, 200], 'the order ends nothing')
    assert.equal((await replace(two)).status, 200)
    assert.deepEqual([await who(ann), await who(bob)], [401, 200])
    assert.deepEqual(await names(), ['bob'])
    assert.equal((await logIn('dropped', one)).status, 401)
    assert.equal((await logIn('dropped', two)).status, 200, 'ann of the other one: the name is free')
    assert.equal((await replace()).status, 200)
    assert.equal(await who(bob), 401)
    assert.deepEqual(await names(), [])
    assert.equal((await replace(one)).status, 200)
    assert.equal((await logIn('dropped', one)).status, 200)
    assert.equal((await asSuper('DELETE', '/admins/realms/dropped')).status, 204)
    await scene(auth).realm('dropped', realmOf(two))
    assert.equal((await logIn('dropped', two)).status, 200, 'a new realm has no users')
  })

  it('leave no session of a provider that is removed while its users log in', async () => {
    await scene(auth).realm('away', realmOf(one, two))
    for (let round = 0; round < 5; round++) {
      const logins = Array.from({ length: 8 }, (_, index) => logIn('away', two, `u${index}`))
      const [replaced, ...answers] = await Promise.all([
        asSuper('PUT', '/admins/realms/away', realmOf(one)),
        ...logins,
      ])
      assert.equal(replaced?.status, 200, replaced?.text)
      for (const answer of answers) {
        assert.ok([200, 401].includes(answer.status), answer.text)
        if (answer.status === 200) assert.equal(await who(readCookie(answer)), 401)
      }
      assert.deepEqual((await asSuper('GET', '/realms/away/jwt-subjects')).json, [])
      assert.equal((await asSuper('PUT', '/admins/realms/away', realmOf(one, two))).status, 200)
    }
  })

  it('give no administrator powers to a provider that only used the name first', async () => {
    const { realm, admin, as } = scene(auth)
    await realm('powers', realmOf(one, two))
    await admin('boss', ['powers'], { jwt: 'boss' })
    await admin('second', ['powers'], { jwt: 'second' })
    const at = '/realms/powers/jwt-subjects'
    const powers = async (cookie: string) => (await as(cookie, 'GET', at)).status
    const squatter = readCookie(await logIn('powers', two, 'boss'))
    assert.equal(await powers(squatter), 403, 'the name, but not its powers')
    assert.equal(await who(squatter), 200)
    const first = readCookie(await logIn('powers', one, 'second'))
    assert.equal(await powers(first), 200, 'of the provider that is listed first it is meant')
    assert.equal((await asSuper('PUT', `${at}/boss`, { jwt_issuer_uri: one })).status, 200)
    assert.equal(await who(squatter), 401)
    const boss = readCookie(await logIn('powers', one, 'boss'))
    assert.equal(await powers(boss), 200)
    assert.equal((await asSuper('PUT', '/admins/realms/powers', realmOf(two, one))).status, 200)
    assert.equal(await powers(boss), 200, 'assigned is assigned, whatever the order')
    assert.equal(await powers(first), 403)
    assert.equal((await as(boss, 'PUT', `${at}/second`, { jwt_issuer_uri: one })).status, 200)
    assert.equal(await powers(first), 200, 'at once')
  })
})
