import { randomBytes } from 'node:crypto'
import { type Answer, type Started, type StartOptions, startKms, storeKeyAs } from '@warder/kms/testing'
import { exportJWK, type JWTHeaderParameters, type JWTPayload } from 'jose'
import { generatePair, type IssuerServer, signedBy, startIssuers } from '../../testing/issuers.ts'

export const owner = 'cse-owner'
export const kaclsUrl = 'https://kms.example.com/google_cse'
export const provider = 'https://idp.example.com'
export const guestProvider = 'https://guests.example.com'
export const administrator = 'admin@example.com'

export const findIssuer = (application: string): string =>
  application === 'migration'
    ? 'apps-security-cse-kaclscommunication@system.gserviceaccount.com'
    : `gsuitecse-tokenissuer-${application}@system.gserviceaccount.com`

/** A key service, Google and two identity providers. */
export interface GoogleWorld extends AsyncDisposable {
  readonly kms: Started
  readonly issuers: IssuerServer
  post(operation: string, body: unknown): Promise<Answer>
  get(operation: string): Promise<Answer>
  /** Google's token: of Drive for a writer, unless it says otherwise. */
  authorization(claims?: JWTPayload, options?: TokenOptions): Promise<string>
  /** The provider's token: of alice@example.com. */
  authentication(claims?: JWTPayload, options?: TokenOptions): Promise<string>
  /** Both, for one user. */
  tokens(claims?: JWTPayload): Promise<{ authentication: string; authorization: string }>
}

export interface TokenOptions {
  readonly application?: string
  /** Party whose key signs. */
  readonly signer?: string
  readonly header?: Partial<JWTHeaderParameters>
}

export interface WorldOptions extends Omit<StartOptions, 'config'> {
  readonly config?: Readonly<Record<string, unknown>>
  /** Another service on the same issuers. */
  readonly issuers?: IssuerServer
  readonly url?: string
  /** false: another node has them already. */
  readonly keys?: boolean
}

/** Ids of the keys, in every service of a process. */
export const wrappingKid = 'cse-wrapping'
export const signingKid = 'cse-signing'
export const trialKid = 'cse-trial'

export async function startGoogle(options: WorldOptions = {}): Promise<GoogleWorld> {
  const { config, issuers: given, url = kaclsUrl, keys = true, ...rest } = options
  const issuers = given ?? (await startIssuers())
  const set = (issuer: string) => `${issuers.url}/keys/${encodeURIComponent(issuer)}`
  const kms = await startKms({
    ...rest,
    config: {
      kms_public_url: url.slice(0, -'/google_cse'.length),
      'google_cse_config.google_cse_enable': true,
      'google_cse_config.google_cse_key': wrappingKid,
      'google_cse_config.google_cse_signing_key': signingKid,
      'google_cse_config.google_cse_trial_key': trialKid,
      'google_cse_config.google_cse_owner_domain': 'example.com',
      'google_cse_config.google_cse_identity_providers': [`${provider},${set(provider)},cse`],
      'google_cse_config.google_cse_administrators': [administrator],
      'google_cse_config.google_cse_authorization_keys': `${issuers.url}/keys/`,
      ...config,
    },
  })
  issuers.trustAs(kms.home)
  for (const issuer of [provider, findIssuer('drive')]) await generatePair(issuer)
  if (keys) await giveKeys(kms)
  const anonymous = kms.with({})
  const now = () => Math.floor((rest.clock?.now() ?? Date.now()) / 1000)
  const world: GoogleWorld = {
    kms,
    issuers,
    post: (operation, body) => anonymous.post(`/google_cse/${operation}`, body),
    get: (operation) => anonymous.get(`/google_cse/${operation}`),
    async authorization(claims = {}, { application = 'drive', signer, header = {} } = {}) {
      const issuer = findIssuer(application)
      await generatePair(issuer)
      const all = {
        iss: issuer,
        aud: 'cse-authorization',
        iat: now(),
        exp: now() + 300,
        email: 'alice@example.com',
        kacls_url: url,
        kacls_owner_domain: 'example.com',
        resource_name: 'item123',
        role: 'writer',
        ...claims,
      }
      return signedBy(signer ?? issuer, plain(all), header)
    },
    async authentication(claims = {}, { signer, header = {} } = {}) {
      const issuer = typeof claims.iss === 'string' ? claims.iss : provider
      const all = {
        iss: issuer,
        aud: 'cse',
        iat: now(),
        exp: now() + 300,
        email: 'alice@example.com',
        ...claims,
      }
      return signedBy(signer ?? issuer, plain(all), header)
    },
    tokens: async (claims) => ({
      authentication: await world.authentication(),
      authorization: await world.authorization(claims),
    }),
    async [Symbol.asyncDispose]() {
      await kms[Symbol.asyncDispose]()
      if (given === undefined) await issuers[Symbol.asyncDispose]()
    },
  }
  return world
}

/** Claims without those that are undefined, which `jose` would refuse. */
function plain(claims: JWTPayload): JWTPayload {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

/** The keys of the scope, granted to all of its callers. */
async function giveKeys(kms: Started): Promise<void> {
  await giveWrappingKey(kms, wrappingKid)
  for (const [kid, party] of [
    [signingKid, 'own signing key'],
    [trialKid, 'own trial key'],
  ] as const) {
    const jwk = await exportJWK((await generatePair(party)).privateKey)
    await storeKeyAs(kms, kid, owner, jwk as Record<string, unknown>, 'RS256', true)
    await grant(kms, kid, ['sign'])
  }
}

export async function giveWrappingKey(kms: Started, kid: string, of = owner): Promise<void> {
  const jwk = { kty: 'oct', k: randomBytes(32).toString('base64url') }
  await storeKeyAs(kms, kid, of, jwk, 'A256GCM', false)
  await grant(kms, kid, ['encrypt', 'decrypt'], of)
}

export async function grant(
  kms: Started,
  kid: string,
  operations: readonly string[],
  of = owner,
): Promise<void> {
  const granted = { unique_identifier: kid, user_id: 'google:*', operation_types: operations }
  const { status, text } = await kms.user(of).post('/access/grant', granted)
  if (status !== 200) throw new Error(text)
}

export const dataKey = 'wHrlNOTI9mU6PBdqiq7EQA=='
