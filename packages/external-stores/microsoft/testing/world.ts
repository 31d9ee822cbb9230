import { constants, createPublicKey, generateKeyPairSync, publicEncrypt } from 'node:crypto'
import { type Answer, type Started, type StartOptions, startKms, storeKeyAs } from '@warder/kms/testing'
import type { JWTHeaderParameters, JWTPayload } from 'jose'
import { generatePair, type IssuerServer, signedBy, startIssuers } from '../../testing/issuers.ts'

export const owner = 'dke-owner'
export const serviceUrl = 'https://dke.contoso.com/ms_dke'
export const tenant = '2ec40e65-ba09-4853-bcde-bcb60029e596'
export const otherTenant = '612da4de-35c0-42de-ba56-174b69062c96'
export const currentKid = '0199aaaa-0000-7000-8000-00000000000c'
export const olderKid = '0199aaaa-0000-7000-8000-00000000000b'

/** Two RSA keys for all tests of a process. */
const pairs = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))

export interface MicrosoftWorld extends AsyncDisposable {
  readonly kms: Started
  readonly issuers: IssuerServer
  publicKey(name?: string): Promise<Answer>
  decrypt(token: string | undefined, body: unknown, kid?: string, name?: string): Promise<Answer>
  /** A token of Entra, version 1, of alice@contoso.com. */
  token(claims?: JWTPayload, options?: TokenOptions): Promise<string>
  grant(user: string, kid?: string): Promise<void>
}

export interface TokenOptions {
  /** 1, or 2 for the other issuer. */
  readonly version?: 1 | 2
  readonly signer?: string
  readonly header?: Partial<JWTHeaderParameters>
  readonly of?: string
}

export interface WorldOptions extends Omit<StartOptions, 'config'> {
  readonly config?: Readonly<Record<string, unknown>>
  readonly issuers?: IssuerServer
  /** false: another node has them already. */
  readonly keys?: boolean
}

/** Name of a key set of the fake Entra. */
const createSet = (of: string, version: 1 | 2): string => `entra ${of} ${version}`

export async function startMicrosoft(options: WorldOptions = {}): Promise<MicrosoftWorld> {
  const { config, issuers: given, keys = true, ...rest } = options
  const issuers = given ?? (await startIssuers())
  for (const id of [tenant, otherTenant]) {
    issuers.serveAt(`/${id}/discovery/keys`, createSet(id, 1))
    issuers.serveAt(`/${id}/discovery/v2.0/keys`, createSet(id, 2))
    for (const version of [1, 2] as const) await generatePair(createSet(id, version))
  }
  const kms = await startKms({
    ...rest,
    config: {
      kms_public_url: 'https://dke.contoso.com',
      'ms_dke_config.ms_dke_enable': true,
      'ms_dke_config.ms_dke_keys': [`finance=${currentKid}`],
      'ms_dke_config.ms_dke_tenants': [tenant],
      'ms_dke_config.ms_dke_authority': issuers.url,
      ...config,
    },
  })
  issuers.trustAs(kms.home)
  const now = () => Math.floor((rest.clock?.now() ?? Date.now()) / 1000)
  const grant = async (user: string, kid = currentKid): Promise<void> => {
    const granted = {
      unique_identifier: kid,
      user_id: `microsoft:${user}`,
      operation_types: ['decrypt'],
    }
    const { status, text } = await kms.user(owner).post('/access/grant', granted)
    if (status !== 200) throw new Error(text)
  }
  if (keys) {
    for (const [index, kid] of [currentKid, olderKid].entries()) {
      const jwk = pairs[index]?.privateKey.export({ format: 'jwk' }) as Record<string, unknown>
      await storeKeyAs(kms, kid, owner, jwk, 'RSA-OAEP-256', true)
      await grant('alice@contoso.com', kid)
    }
    const { status, text } = await kms
      .user(owner)
      .post(`/v1/crypto/keys/${olderKid}/tags`, { tags: ['dke:finance'] })
    if (status !== 200) throw new Error(text)
  }
  const anonymous = kms.with({})
  return {
    kms,
    issuers,
    grant,
    publicKey: (name = 'finance') => anonymous.get(`/ms_dke/${name}`),
    decrypt: (token, body, kid = currentKid, name = 'finance') =>
      kms
        .with(token === undefined ? {} : { authorization: `Bearer ${token}` })
        .post(`/ms_dke/${name}/${kid}/decrypt`, body),
    async token(claims = {}, { version = 1, signer, header = {}, of = tenant } = {}) {
      const iss = version === 1 ? `https://sts.windows.net/${of}/` : `${issuers.url}/${of}/v2.0`
      const set = createSet(of, version)
      const all = {
        iss,
        aud: 'https://dke.contoso.com',
        iat: now(),
        exp: now() + 3600,
        tid: of,
        oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
        upn: 'alice@contoso.com',
        ver: version === 1 ? '1.0' : '2.0',
        ...claims,
      }
      const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
      return signedBy(signer ?? set, present, { kid: signer ?? set, ...header })
    },
    async [Symbol.asyncDispose]() {
      await kms[Symbol.asyncDispose]()
      if (given === undefined) await issuers[Symbol.asyncDispose]()
    },
  }
}

export const secret = Buffer.from('2c00ffff2000001000021000000bbc45aaac', 'hex')

/** Encrypts as Office does, with the public key of the reply. */
export function encrypted(answer: Answer, data: Uint8Array = secret, oaepHash = 'sha256'): string {
  const { n, e } = answer.json.key
  const key = createPublicKey({
    key: {
      kty: 'RSA',
      n: Buffer.from(n, 'base64').toString('base64url'),
      e: Buffer.from(Number(e).toString(16).padStart(6, '0'), 'hex').toString('base64url'),
    },
    format: 'jwk',
  })
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  return publicEncrypt({ key, padding, oaepHash }, data).toString('base64')
}
