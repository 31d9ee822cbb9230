import assert from 'node:assert/strict'
import { Authenticator } from '../../../testing/authenticator.ts'
import type { Answer } from '../../../testing/client.ts'
import { type Scene, scene } from '../../../testing/scene.ts'
import { startAuth, type TestOptions, type TestService } from '../../../testing/start.ts'

/** The origin of the pages of a test's service. */
export const origin = 'https://localhost'

type Deviations = NonNullable<Parameters<Authenticator['get']>[1]>
type CreationDeviations = NonNullable<Parameters<Authenticator['create']>[1]>

/** A test with a realm `r` that has passkeys, and its user `ann`. */
export interface PasskeyScene extends Scene, AsyncDisposable {
  readonly auth: TestService
  /** Registers a passkey for the user of a session. */
  register(
    cookie: string,
    authenticator: Authenticator,
    deviations?: CreationDeviations & { readonly name?: string },
  ): Promise<Answer>
  /** Logs in with a passkey. */
  logInWith(authenticator: Authenticator, deviations?: Deviations, realm?: string): Promise<Answer>
}

/** Value of a cookie that an answer set; undefined if it set none. */
export function findCookie(answer: Answer, name: string): string | undefined {
  const values = (answer.headers['set-cookie'] ?? []).map((header) => header.split(';')[0] ?? '')
  return values.find((value) => value.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** The `Cookie` header with which a browser answers a challenge. */
export function challengeHeader(answer: Answer, session?: string): { readonly cookie: string } {
  const challenge = `_ea_passkey=${findCookie(answer, '_ea_passkey') ?? ''}`
  return { cookie: session === undefined ? challenge : `_ea_=${session}; ${challenge}` }
}

export const realmWithPasskeys = {
  auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
}

export async function startPasskeys(options: TestOptions = {}): Promise<PasskeyScene> {
  const auth = await startAuth({ adminPassword: 'correct horse', ...options })
  const made = scene(auth)
  await made.realm('r', realmWithPasskeys)
  await made.user('r', 'ann')
  return {
    auth,
    ...made,
    async register(cookie, authenticator, { name = 'Laptop', ...deviations } = {}) {
      const options = await auth.call('POST', '/account/passkeys/options', { cookie })
      assert.equal(options.status, 200, options.text)
      const json = { name, credential: authenticator.create(options.json, deviations) }
      return auth.call('POST', '/account/passkeys', { json, headers: challengeHeader(options, cookie) })
    },
    async logInWith(authenticator, deviations = {}, realm = 'r') {
      const options = await auth.call('POST', `/passkeys/login/options?realm=${realm}`)
      assert.equal(options.status, 200, options.text)
      const json = { credential: authenticator.get(options.json, deviations) }
      return auth.call('POST', `/passkeys/login?realm=${realm}`, { json, headers: challengeHeader(options) })
    },
    async [Symbol.asyncDispose]() {
      await auth[Symbol.asyncDispose]()
    },
  }
}

/** A new authenticator whose browser shows the pages of the service. */
export const newAuthenticator = (options: Partial<ConstructorParameters<typeof Authenticator>[0]> = {}) =>
  new Authenticator({ origin, ...options })

/** Calls of each operation on passkeys in the realm `r`, for tests that call every operation. */
export async function preparePasskeyCalls(
  auth: TestService,
): Promise<Readonly<Record<string, () => Promise<Answer>>>> {
  const { user, as, asSuper, logIn } = scene(auth)
  await user('r', 'keys')
  const cookie = await logIn('r', 'keys')
  const authenticator = newAuthenticator()
  const ask = () => auth.call('POST', '/account/passkeys/options', { cookie })
  const register = (options: Answer, credential: object) =>
    auth.call('POST', '/account/passkeys', {
      ...{ json: { name: 'x', credential }, headers: challengeHeader(options, cookie) },
    })
  const ids: string[] = []
  for (let count = 0; count < 2; count++) {
    const options = await ask()
    const credential = (count === 0 ? authenticator : newAuthenticator()).create(options.json)
    assert.equal((await register(options, credential)).status, 201)
    ids.push(credential.id)
  }
  const [kept, doomed] = ids
  const fresh = await ask()
  const another = newAuthenticator().create(fresh.json)
  const login = await auth.call('POST', '/passkeys/login/options?realm=r')
  const assertion = authenticator.get(login.json, { credentialId: kept ?? '' })
  return {
    'passkeys.login_options': () => auth.call('POST', '/passkeys/login/options?realm=r'),
    'passkeys.login': () =>
      auth.call('POST', '/passkeys/login?realm=r', {
        ...{ json: { credential: assertion }, headers: challengeHeader(login) },
      }),
    'passkeys.register_options': ask,
    'passkeys.register': () => register(fresh, another),
    'passkeys.list': () => as(cookie, 'GET', '/account/passkeys'),
    'passkeys.rename': () => as(cookie, 'PUT', `/account/passkeys/${kept}`, { name: 'y' }),
    'passkeys.delete': () => as(cookie, 'DELETE', `/account/passkeys/${doomed}`),
    'passkeys.list_user': () => asSuper('GET', '/realms/r/passkeys/keys'),
    'passkeys.delete_user': () => asSuper('DELETE', '/realms/r/passkeys/keys'),
  }
}
