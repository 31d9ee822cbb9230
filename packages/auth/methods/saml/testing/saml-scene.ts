import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer, Call, Client } from '../../../testing/client.ts'
import { type Scene, scene } from '../../../testing/scene.ts'
import { startAuth, type TestOptions, type TestService } from '../../../testing/start.ts'
import { type ResponseWishes, sharedKey, TestIdp } from './test-idp.ts'

/** A login that a browser has begun. */
export interface BegunLogin {
  readonly requestId: string
  /** Value of the cookie `_ea_saml`. */
  readonly cookie: string
  readonly location: URL
  readonly answer: Answer
}

export interface SamlScene extends AsyncDisposable {
  readonly auth: TestService
  readonly scene: Scene
  readonly idp: TestIdp
  /** Unix seconds. */
  now(): number
  /** `saml_params` of a realm of this identity provider. */
  params(members?: Record<string, unknown>, realm?: string): Record<string, unknown>
  /** Begins a login; the answer must be a redirect. */
  begin(options?: {
    readonly realm?: string
    readonly returnTo?: string
    readonly client?: Pick<Client, 'call'>
  }): Promise<BegunLogin>
  /** Posts a response as a browser does. @param response XML */
  post(
    login: Pick<BegunLogin, 'requestId' | 'cookie'>,
    response: string,
    options?: {
      readonly realm?: string
      readonly client?: Pick<Client, 'call'>
      readonly headers?: Record<string, string>
    },
  ): Promise<Answer>
  /** Begins a login and posts the response that the wishes describe. */
  logIn(wishes?: Partial<ResponseWishes>): Promise<Answer>
}

export const toAcsUrl = (realm: string): string => `https://auth.example/saml/${realm}/acs`
export const toSpEntityId = (realm: string): string => `https://auth.example/saml/${realm}`

/** `saml_params` of a realm whose people log in at this identity provider. */
export function samlParams(idp: TestIdp, realm: string, members: Record<string, unknown> = {}) {
  return {
    metadata_xml: idp.metadata(),
    sp_entity_id: toSpEntityId(realm),
    sp_acs_url: toAcsUrl(realm),
    allowed_return_origins: ['https://app.example'],
    default_return_url: 'https://app.example/home',
    ...members,
  }
}

/** Request that a browser sends after the login at the identity provider. @param response XML */
export function acsCall(login: Pick<BegunLogin, 'requestId' | 'cookie'>, response: string): Call {
  const fields = { SAMLResponse: Buffer.from(response).toString('base64'), RelayState: login.requestId }
  return {
    body: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: `_ea_saml=${login.cookie}`,
      origin: 'https://idp.example',
    },
  }
}

/** A login that is read off the answer to its beginning. */
export function begunLogin(answer: Answer): BegunLogin {
  assert.equal(answer.status, 302, answer.text)
  const location = new URL(answer.headers.location ?? '')
  const cookie = /^_ea_saml=([^;]*)/.exec(answer.headers['set-cookie']?.[0] ?? '')?.[1] ?? ''
  return { requestId: location.searchParams.get('RelayState') ?? '', cookie, location, answer }
}

const toAccepted = (samlParams: unknown): Record<string, unknown> => ({
  auth_params: { saml_params: samlParams },
})

/** Files of a key that is the service provider's own, so that no test waits for one to be made. */
export async function ownKeyConfig(home: string): Promise<NonNullable<TestOptions['config']>> {
  const { certificate, privateKey } = await sharedKey('sp')
  const [keyFile, certificateFile] = [join(home, 'saml.key'), join(home, 'saml.crt')]
  writeFileSync(keyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
  writeFileSync(certificateFile, certificate)
  return { saml_sp_key_files: [keyFile], saml_sp_certificate_files: [certificateFile] }
}

/** The service with the realm `r`, whose people log in at an identity provider of the test. */
export async function startSaml(
  members: Record<string, unknown> = {},
  options: TestOptions = {},
): Promise<SamlScene> {
  const home = mkdtempSync(join(tmpdir(), 'warder-saml-'))
  const config = { ...(await ownKeyConfig(home)), ...options.config }
  const auth = await startAuth({ adminPassword: 'correct horse', ...options, config })
  const idp = new TestIdp({
    key: await sharedKey('idp'),
    spEntityId: toSpEntityId('r'),
    acsUrl: toAcsUrl('r'),
  })
  const made = scene(auth)
  const now = (): number => Math.floor(auth.clock.now() / 1000)
  const params: SamlScene['params'] = (given = {}, realm = 'r') => samlParams(idp, realm, given)
  await made.realm('r', toAccepted(params(members)))
  const begin: SamlScene['begin'] = async ({ realm = 'r', returnTo, client = auth } = {}) => {
    const query = returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`
    return begunLogin(await client.call('GET', `/saml/${realm}/login${query}`))
  }
  const post: SamlScene['post'] = async (login, response, options = {}) => {
    const { realm = 'r', client = auth, headers = {} } = options
    const call = acsCall(login, response)
    return client.call('POST', `/saml/${realm}/acs`, { ...call, headers: { ...call.headers, ...headers } })
  }
  return {
    auth,
    scene: made,
    idp,
    now,
    params,
    begin,
    post,
    async logIn(wishes = {}) {
      const login = await begin()
      return post(login, idp.response({ requestId: login.requestId, now: now(), ...wishes }))
    },
    async [Symbol.asyncDispose]() {
      await auth[Symbol.asyncDispose]()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
