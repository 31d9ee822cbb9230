import { createHash } from 'node:crypto'
import { scene } from '../../../testing/scene.ts'
import { peerSecret, readCookie, type TestService } from '../../../testing/start.ts'
import { sealLogoutHandle } from '../handover.ts'
import { logoutRequest } from '../logout.ts'
import { acsCall, begunLogin, samlParams, toAcsUrl, toSpEntityId } from './saml-scene.ts'
import { randomId, sharedKey, signQuery, TestIdp } from './test-idp.ts'

type Call = () => Promise<{ readonly status: number; readonly text: string }>

const slo =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>'

/** One call of every SAML operation, in a realm `sso` that is made for them; each would succeed. */
export async function prepareSamlCalls(auth: TestService): Promise<Readonly<Record<string, Call>>> {
  const place = { spEntityId: toSpEntityId('sso'), acsUrl: toAcsUrl('sso') }
  const idp = new TestIdp({ key: await sharedKey('idp'), ...place })
  const saml_params = samlParams(idp, 'sso', { metadata_xml: idp.metadata({ before: slo }) })
  await scene(auth).realm('sso', { auth_params: { saml_params } })
  const begin = async (query = '') => begunLogin(await auth.call('GET', `/saml/sso/login${query}`))
  const post = (login: Awaited<ReturnType<typeof begin>>, nameId: string) => {
    const response = idp.response({ requestId: login.requestId, now: auth.services.now(), nameId })
    return auth.call('POST', '/saml/sso/acs', acsCall(login, response))
  }
  const cookie = readCookie(await post(await begin(), 'bob'))
  const [, claims = ''] = readCookie(await post(await begin(), 'eve')).split('.')
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { readonly jti: string }
  const logout_handle = sealLogoutHandle(auth.services.seal, 'sso', jti)
  const begun = await begin()
  const code_verifier = 'v'.repeat(43)
  const handedOver = new URLSearchParams({
    return_to: 'https://app.example/callback',
    state: 's'.repeat(16),
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
  })
  const page = await post(await begin(`?${handedOver}`), 'dan')
  const code = /[?&]code=([A-Za-z0-9_-]+)/.exec(page.text)?.[1]
  const sent = {
    id: randomId(),
    destination: place.acsUrl.replace('/acs', '/slo'),
    spEntityId: idp.entityId,
    now: auth.services.now(),
  }
  const nameId = { value: 'carol', format: null, nameQualifier: null, spNameQualifier: null }
  const query = signQuery(idp, 'SAMLRequest', logoutRequest(sent, nameId, null))
  return {
    'saml.login': () => auth.call('GET', '/saml/sso/login'),
    'saml.acs': () => post(begun, 'ann'),
    'saml.metadata': () => auth.call('GET', '/saml/sso/metadata'),
    'saml.redeem': () => auth.call('POST', '/saml/sso/session', { json: { code, code_verifier } }),
    'saml.end': () => auth.call('POST', '/saml/sso/session/end', { json: { logout_handle } }),
    'saml.realms': () =>
      auth.call('GET', '/saml/realms?return_to=https://app.example/', {
        headers: { 'x-warder-peer': peerSecret },
      }),
    'saml.test': () =>
      scene(auth).asSuper('POST', '/realms/sso/saml/test', {
        saml_response: Buffer.from('<x/>').toString('base64'),
      }),
    'saml.keys.list': () => scene(auth).asSuper('GET', '/admins/saml/keys'),
    'saml.keys.renew': () => scene(auth).asSuper('POST', '/admins/saml/keys', {}),
    'saml.keys.delete': () => scene(auth).asSuper('DELETE', '/admins/saml/keys/99'),
    'saml.logout': () => auth.call('GET', '/saml/sso/logout', { cookie }),
    'saml.slo': () => auth.call('GET', `/saml/sso/slo?${query}`),
  }
}
