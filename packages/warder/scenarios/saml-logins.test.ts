import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import {
  type Client,
  client,
  logoutRequest,
  randomId,
  sharedKey,
  signQuery,
  TestIdp,
} from '@warder/auth/testing'
import { type Installation, startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

const singleLogout =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>'
let warder: Installation
let auth: Client
let kms: Client
let idp: TestIdp
let admin: string

before(async () => {
  warder = await startInstallation({
    env: { KMS_ROLE_SOURCES: 'staff,session,sso;others,session,elsewhere' },
  })
  const [own, keys] = [warder.authUrl, warder.kmsUrl].map((url) =>
    client(Number(new URL(url).port), readFileSync(warder.caFile, 'utf8')),
  )
  assert.ok(own !== undefined && keys !== undefined)
  auth = own
  kms = keys
  admin = await warder.adminToken()
  idp = await realm('sso', [warder.kmsUrl])
  await realm('elsewhere', ['https://app.example'])
})
after(async () => {
  auth.close()
  kms.close()
  await warder.stop()
})

/** A realm whose people log in at an identity provider, and may then be sent to these origins. */
async function realm(id: string, origins: readonly string[]): Promise<TestIdp> {
  const place = { spEntityId: `${warder.authUrl}/saml/${id}`, acsUrl: `${warder.authUrl}/saml/${id}/acs` }
  const made = new TestIdp({ key: await sharedKey('idp'), ...place })
  assert.equal(
    (await auth.call('POST', '/admins/realms', { json: bodyOf(id, made, origins), cookie: admin })).status,
    201,
  )
  return made
}

/** Request that makes a realm with an identity provider. */
function bodyOf(id: string, made: TestIdp, origins: readonly string[]) {
  const saml_params = {
    metadata_xml: made.metadata({ before: singleLogout }),
    sp_entity_id: made.spEntityId,
    sp_acs_url: made.acsUrl,
    role_attribute: 'groups',
    allowed_return_origins: origins,
    default_return_url: `${origins[0]}/`,
  }
  return {
    id,
    auth_params: { saml_params },
    session_max_age_seconds: 3600,
    session_max_stale_age_seconds: 600,
  }
}

/** A browser with the cookies of both services. */
function browser() {
  const jars = { auth: new Map<string, string>(), kms: new Map<string, string>() }
  return {
    jars,
    async logOut() {
      const cookie = `auth_session=${jars.kms.get('auth_session')}`
      return (await kms.call('POST', '/ui/logout', { headers: { cookie }, json: {} })).status
    },
    async go(url: string, form?: Readonly<Record<string, string>>) {
      const service = url.startsWith(warder.kmsUrl) ? 'kms' : 'auth'
      const base = service === 'kms' ? warder.kmsUrl : warder.authUrl
      assert.ok(url.startsWith(base), url)
      const jar = jars[service]
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const formHeaders = {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'https://idp.example',
      }
      const answer = await (service === 'kms' ? kms : auth).call(
        form === undefined ? 'GET' : 'POST',
        url.slice(base.length),
        {
          headers: { ...(cookie !== '' && { cookie }), ...(form !== undefined && formHeaders) },
          ...(form !== undefined && { body: `${new URLSearchParams(form)}` }),
        },
      )
      for (const line of answer.headers['set-cookie'] ?? []) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (/Max-Age=0/.test(line)) jar.delete(name)
        else jar.set(name, value)
      }
      return { ...answer, location: String(answer.headers.location ?? '') }
    },
  }
}

type Browser = ReturnType<typeof browser>

/** From the login page to the address at the kms that the browser is sent back to. */
async function toCallback(
  one: Browser,
  nameId: string,
  by = idp,
  attributes: Readonly<Record<string, readonly string[]>> = {},
): Promise<string> {
  const begun = await one.go(`${warder.kmsUrl}/ui/login_saml?realm=sso`)
  assert.equal(begun.status, 302, begun.text)
  const sent = await one.go(begun.location)
  assert.equal(sent.status, 302, sent.text)
  const RelayState = new URL(sent.location).searchParams.get('RelayState') ?? ''
  const now = Math.floor(Date.now() / 1000)
  const response = by.response({ requestId: RelayState, now, nameId, attributes })
  const SAMLResponse = Buffer.from(response).toString('base64')
  const answered = await one.go(`${warder.authUrl}/saml/sso/acs`, { SAMLResponse, RelayState })
  assert.equal(answered.status, 200, answered.text)
  return /<a href="([^"]+)"/.exec(answered.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
}

async function loggedIn(nameId: string, by = idp): Promise<Browser> {
  const one = browser()
  const done = await one.go(await toCallback(one, nameId, by))
  assert.equal(done.status, 302, done.text)
  return one
}

/** Live sessions of somebody at auth. */
async function sessionsOf(username: string): Promise<readonly unknown[]> {
  const { json } = await auth.call('GET', `/sessions/realms/sso?username=${username}`, { cookie: admin })
  return json.sessions
}

describe('a login for the web page of the kms at the identity provider of a realm', () => {
  it('is offered where the realm allows it, and begins a session of both services that ends with one', async () => {
    const one = browser()
    const info = await one.go(`${warder.kmsUrl}/ui/info`)
    assert.equal(info.status, 200, info.text)
    assert.ok(info.json.ways.includes('saml'), info.text)
    assert.deepEqual(info.json.realms, ['sso'])
    for (const other of ['elsewhere', 'none', '_'])
      assert.equal((await one.go(`${warder.kmsUrl}/ui/login_saml?realm=${other}`)).status, 404, other)

    const back = await toCallback(one, 'ann')
    assert.ok(back.startsWith(`${warder.kmsUrl}/ui/saml_callback?code=`), back)
    assert.equal(one.jars.auth.size, 0, 'the browser has no session at auth')
    const done = await one.go(back)
    assert.deepEqual([done.status, done.location], [302, '/ui/'])
    assert.deepEqual([...one.jars.kms.keys()], ['auth_session'])
    assert.ok(!back.includes(one.jars.kms.get('auth_session') ?? '?'))
    assert.equal((await one.go(`${warder.kmsUrl}/me`)).json.user, 'sso/ann')

    const again = await browser().go(back)
    assert.equal(again.status, 401, 'nobody else comes in with the address')
    const ended = await auth.call('DELETE', '/sessions/realms/sso', { cookie: admin })
    assert.equal(ended.status, 204)
    await until('the kms knows of it', async () => (await one.go(`${warder.kmsUrl}/me`)).status === 401)
  })

  it("ends at auth with a logout at the kms, and nobody else's does", async () => {
    const [one, other] = [await loggedIn('dora'), await loggedIn('dora')]
    assert.equal((await sessionsOf('dora')).length, 2)
    assert.equal(await one.logOut(), 204)
    assert.equal((await sessionsOf('dora')).length, 1)
    assert.equal((await one.go(`${warder.kmsUrl}/me`)).status, 401)
    assert.equal((await other.go(`${warder.kmsUrl}/me`)).status, 200)
    assert.equal(await one.logOut(), 204, 'again')
  })

  it('ends at the kms with a single logout at the identity provider', async () => {
    const [one, other] = [await loggedIn('emil'), await loggedIn('fred')]
    const sent = {
      id: randomId(),
      destination: `${warder.authUrl}/saml/sso/slo`,
      spEntityId: idp.entityId,
      now: Math.floor(Date.now() / 1000),
    }
    const name = { value: 'emil', format: null, nameQualifier: null, spNameQualifier: null }
    const query = signQuery(idp, 'SAMLRequest', logoutRequest(sent, name, null))
    const answer = await auth.call('GET', `/saml/sso/slo?${query}`)
    assert.equal(answer.status, 302, answer.text)
    await until('the kms knows of it', async () => (await one.go(`${warder.kmsUrl}/me`)).status === 401)
    assert.equal((await other.go(`${warder.kmsUrl}/me`)).status, 200)
    assert.deepEqual([await sessionsOf('emil'), (await sessionsOf('fred')).length], [[], 1])
  })

  it('is finished by the browser that began it alone (login CSRF), and once', async () => {
    const [mallory, victim] = [browser(), browser()]
    const hers = await toCallback(mallory, 'mallory')
    const refused = await victim.go(hers)
    assert.equal(refused.status, 401)
    assert.equal(victim.jars.kms.size, 0)
    // With a login of her own under way the victim does not take another one's, either.
    const own = await toCallback(victim, 'bob')
    assert.equal((await victim.go(hers)).status, 401)
    const state = new URL(own).searchParams.get('state') ?? ''
    const swapped = new URL(hers)
    swapped.searchParams.set('state', state)
    assert.equal((await victim.go(swapped.href)).status, 401, 'her code, the state of the victim')
    assert.equal((await victim.go(`${own}&state=${state}`)).status, 400, 'two states')
    assert.equal((await victim.go(own.replace(/code=[^&]+&/, ''))).status, 401, 'no code')
    assert.equal((await victim.go(own)).status, 302)
    assert.equal((await victim.go(`${warder.kmsUrl}/me`)).json.user, 'sso/bob')
    const kept = mallory.jars.kms.get('auth_saml') ?? ''
    assert.equal((await mallory.go(hers)).status, 302, 'what others tried did her no harm')
    mallory.jars.kms.set('auth_saml', kept)
    assert.equal((await mallory.go(hers)).status, 401, 'once')
  })

  it('gives nothing of its users to those of the next identity provider who have the same names', async () => {
    const keyOf = (one: Browser) => ({ cookie: `auth_session=${one.jars.kms.get('auth_session')}` })
    const first = await loggedIn('gina')
    const made = await kms.call('POST', '/v1/crypto/keys', {
      headers: keyOf(first),
      json: { kty: 'oct', alg: 'A256GCM' },
    })
    assert.equal(made.status, 200, made.text)
    const path = `/v1/crypto/keys/${made.json.kid}`
    assert.equal((await kms.call('GET', path, { headers: keyOf(first) })).status, 200)
    const { spEntityId, acsUrl } = idp
    const next = new TestIdp({
      key: await sharedKey('idp'),
      entityId: 'https://next.example',
      spEntityId,
      acsUrl,
    })
    const json = bodyOf('sso', next, [warder.kmsUrl])
    assert.equal((await auth.call('PUT', '/admins/realms/sso', { json, cookie: admin })).status, 200)
    const second = await loggedIn('gina', next)
    assert.equal((await second.go(`${warder.kmsUrl}/me`)).json.user, 'sso/gina')
    assert.equal((await kms.call('GET', path, { headers: keyOf(first) })).status, 401)
    assert.equal((await kms.call('GET', path, { headers: keyOf(second) })).status, 404)
    idp = next
  })

  it('gives the roles of the attribute that the realm names, as those of its source', async () => {
    const one = browser()
    const attributes = { groups: ['auditor', 'auditor', 'r\u00e9seau'], roles: ['admin'] }
    assert.equal((await one.go(await toCallback(one, 'hugo', idp, attributes))).status, 302)
    const me = async (other: Browser) => {
      const { until, ...rest } = JSON.parse((await other.go(`${warder.kmsUrl}/me`)).text)
      assert.ok(Date.parse(until) > Date.now())
      return rest
    }
    assert.deepEqual(await me(one), {
      user: 'sso/hugo',
      roles: ['role:staff/auditor', 'role:staff/r\u00e9seau'],
    })
    assert.deepEqual(await me(await loggedIn('ines')), { user: 'sso/ines' })

    const headers = { authorization: `Bearer ${admin}` }
    const made = await kms.call('POST', '/v1/crypto/keys', { headers, json: { kty: 'oct', alg: 'A256GCM' } })
    const path = `/v1/crypto/keys/${made.json.kid}`
    assert.equal((await one.go(`${warder.kmsUrl}${path}`)).status, 404)
    for (const user_id of ['role:others/auditor', 'role:staff/admin', 'role:staff/Auditor']) {
      const json = { unique_identifier: made.json.kid, user_id, operation_types: ['get_attributes'] }
      assert.equal((await kms.call('POST', '/access/grant', { headers, json })).status, 200)
      assert.equal((await one.go(`${warder.kmsUrl}${path}`)).status, 404, user_id)
    }
    const json = {
      unique_identifier: made.json.kid,
      user_id: 'role:staff/auditor',
      operation_types: ['get_attributes'],
    }
    assert.equal((await kms.call('POST', '/access/grant', { headers, json })).status, 200)
    assert.equal((await one.go(`${warder.kmsUrl}${path}`)).status, 200)
    assert.equal((await (await loggedIn('ines')).go(`${warder.kmsUrl}${path}`)).status, 404)
  })

  it('refuses a cookie that was not sealed here, and two of them', async () => {
    const one = browser()
    const back = await toCallback(one, 'carl')
    const right = one.jars.kms.get('auth_saml') ?? ''
    one.jars.kms.set('auth_saml', `${right.slice(0, -4)}AAAA`)
    assert.equal((await one.go(back)).status, 401)
    one.jars.kms.set('auth_saml', `${right}; auth_saml=${right}`)
    assert.equal((await one.go(back)).status, 401)
  })
})
