import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { logoutRequest, randomId, sharedKey, signQuery, TestIdp } from '@warder/auth/testing'
import { buildConsole } from '@warder/console/testing'
import type { Answer, Caller } from '@warder/kms/testing'
import type { OpenIdProvider } from './parties.ts'
import { ok, type Walked, walkerOf } from './walked-installation.ts'

/** Origin of the web page of the kms, as browsers would reach it. */
export const pageOrigin = 'https://kms.example.com'
const application = 'https://app.example'
const singleLogout =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>'

/** A browser with the cookies of one service. */
function browser(wire: Caller) {
  const jar = new Map<string, string>()
  const go = async (
    method: string,
    path: string,
    form?: Readonly<Record<string, string>>,
  ): Promise<Answer> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await ok(
      wire.call(method, path, {
        headers: {
          ...(cookie !== '' && { cookie }),
          ...(form !== undefined && {
            'content-type': 'application/x-www-form-urlencoded',
            origin: 'https://idp.example',
          }),
        },
        ...(form !== undefined && { bytes: Buffer.from(`${new URLSearchParams(form)}`) }),
      }),
    )
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  return { jar, go }
}

const pathOf = (address: unknown, base?: string): string => {
  const { origin, pathname, search } = new URL(String(address))
  if (base !== undefined) assert.equal(origin, base)
  return `${pathname}${search}`
}

/** Logins of browsers at the identity provider of a realm: at auth itself, and for the web page of the kms. */
export async function walkSaml({ admin: { auth: admin }, installation, wire }: Walked): Promise<void> {
  const spEntityId = `${installation.authUrl}/saml/sso`
  const idp = new TestIdp({ key: await sharedKey('idp'), spEntityId, acsUrl: `${spEntityId}/acs` })
  const saml_params = {
    metadata_xml: idp.metadata({ before: singleLogout }),
    sp_entity_id: idp.spEntityId,
    sp_acs_url: idp.acsUrl,
    allowed_return_origins: [pageOrigin, application],
    default_return_url: `${application}/home`,
  }
  const times = { session_max_age_seconds: 3600, session_max_stale_age_seconds: 600 }
  await admin.post('/admins/realms', { id: 'sso', auth_params: { saml_params }, ...times })
  const now = () => Math.floor(Date.now() / 1000)
  const answerTo = (begun: Answer, nameId: string) => {
    const RelayState = new URL(String(begun.headers.location)).searchParams.get('RelayState') ?? ''
    const xml = idp.response({ requestId: RelayState, now: now(), nameId })
    return { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState }
  }
  const anonymous = walkerOf(wire('auth'))
  await anonymous.get('/saml/sso/metadata')

  const own = browser(wire('auth'))
  const begun = await own.go('GET', '/saml/sso/login')
  await own.go('POST', '/saml/sso/acs', answerTo(begun, 'ann'))
  await own.go('GET', '/saml/sso/logout')

  // For an application, which redeems a code for the session and ends that later.
  const guest = browser(wire('auth'))
  const code_verifier = 'v'.repeat(43)
  const handedOver = new URLSearchParams({
    return_to: `${application}/callback`,
    state: 's'.repeat(16),
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
  })
  const sent = await guest.go('GET', `/saml/sso/login?${handedOver}`)
  const page = await guest.go('POST', '/saml/sso/acs', answerTo(sent, 'dan'))
  const code = /[?&]code=([A-Za-z0-9_-]+)/.exec(page.text)?.[1]
  const { logout_handle } = (await anonymous.post('/saml/sso/session', { code, code_verifier })).json
  await anonymous.post('/saml/sso/session/end', { logout_handle })

  const message = { id: randomId(), destination: `${spEntityId}/slo`, spEntityId: idp.entityId, now: now() }
  const name = { value: 'ann', format: null, nameQualifier: null, spNameQualifier: null }
  await anonymous.get(`/saml/sso/slo?${signQuery(idp, 'SAMLRequest', logoutRequest(message, name, null))}`)

  const response = idp.response({ requestId: randomId(), now: now(), nameId: 'ann' })
  await admin.post('/realms/sso/saml/test', { saml_response: Buffer.from(response).toString('base64') })
  await admin.get('/admins/saml/keys')
  await admin.post('/admins/saml/keys', { signs_after_seconds: 0 })
  const { json } = await admin.get('/admins/saml/keys')
  const generations = JSON.stringify(json).match(/"generation":(\d+)/g) ?? []
  await admin.del(`/admins/saml/keys/${generations.map((text) => text.slice(13)).toSorted()[0]}`)

  const [kms, auth] = [browser(wire('kms')), browser(wire('auth'))]
  const toAuth = await kms.go('GET', '/ui/login_saml?realm=sso')
  const toIdp = await auth.go('GET', pathOf(toAuth.headers.location, installation.authUrl))
  const back = await auth.go('POST', '/saml/sso/acs', answerTo(toIdp, 'eve'))
  const callback = /<a href="([^"]+)"/.exec(back.text)?.[1]?.replaceAll('&amp;', '&')
  await kms.go('GET', pathOf(callback, pageOrigin))
  assert.equal((await kms.go('GET', '/me')).json.user, 'sso/eve')
  await kms.go('POST', '/ui/logout')
}

/** A login for the web page of the kms with a session of auth, of which the page of auth asks. */
export async function walkHandover({ admin, wire }: Walked): Promise<void> {
  const kms = browser(wire('kms'))
  const sent = await kms.go('GET', '/ui/login_handover?to=/ui/keys')
  const request = new URL(String(sent.headers.location)).searchParams.get('request')
  const { location } = (await admin.auth.post('/account/handover', { request })).json
  const back = await kms.go('GET', pathOf(location, pageOrigin))
  assert.equal(back.headers.location, '/ui/keys')
  assert.match((await kms.go('GET', '/me')).text, /"admin"/)
}

/** The page of the console at both services, before a login. */
export async function walkConsole({ wire }: Walked): Promise<void> {
  await buildConsole()
  for (const service of ['auth', 'kms'] as const) {
    const anybody = walkerOf(wire(service))
    await anybody.call('GET', '/', { headers: { accept: 'text/html' } })
    for (const path of ['/ui', '/ui/login', '/ui/some/room', '/ui/authority.crt']) await anybody.get(path)
    const { text } = await anybody.get('/ui/')
    const script = /src="(\/ui\/assets\/[\w.-]+)"/.exec(text)?.[1] ?? ''
    const type = (await anybody.get(script)).headers['content-type']
    assert.match(String(type), /^text\/javascript/)
    assert.equal((await anybody.get('/ui/info')).json.service, service)
  }
}

/** A login at an OpenID provider for the web page of the kms. */
export async function walkOpenId({ wire }: Walked, provider: OpenIdProvider): Promise<void> {
  const one = browser(wire('kms'))
  const sent = await one.go('GET', '/ui/login_flow')
  const back = provider.authorize(new URL(String(sent.headers.location)))
  await one.go('GET', `/ui/callback?${back}`)
  assert.equal((await one.go('GET', '/me')).json.user, 'alice@example.test')
}
