import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@warder/base'
import {
  createInlineKeySet,
  issueCertificate,
  peekToken,
  publicJwk,
  signToken,
  verifyToken,
} from '@warder/server'
import type { AskKacls } from './google-answers.ts'

type Claims = Readonly<Record<string, unknown>>

/** Token issuers, each with its own key. */
export type MockProvider =
  | 'drive'
  | 'meet'
  | 'gmail'
  | 'migration'
  | 'provider'
  | 'guests'
  | 'peer'
  | 'untrusted'

/**
 * Mocks on loopback of the peers of a key service: Google's issuers, identity providers, and another key service.
 * Their keys exist only in memory, for one self-test.
 */
export interface MockProviders {
  /** PEM of the authority that issued their certificate. */
  readonly authority: string
  /** Base address of their key sets, with a trailing slash; append the name of the issuer. */
  readonly keySets: string
  /** Address of the other key service. */
  readonly peerUrl: string
  getIssuer(provider: MockProvider): string
  /** Creates a token that is valid for five minutes. */
  token(provider: MockProvider, claims: Claims): string
  /** Sets the key of the other key service. */
  holdKey(held: HeldKey): void
  close(): Promise<void>
}

/** A key of a resource that the other key service releases to the key service at `kaclsUrl`. */
interface HeldKey {
  readonly ask: AskKacls
  readonly kaclsUrl: string
  readonly resourceName: string
  readonly wrappedKey: string
  /** Base64. */
  readonly key: string
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const hourMs = 3_600_000
const maxBodyBytes = 65_536

export async function startMockProviders(): Promise<MockProviders> {
  const pairs = new Map<MockProvider, KeyPair>()
  const getKeyPair = (provider: MockProvider): KeyPair => {
    const pair = pairs.get(provider) ?? generateKeyPairSync('rsa', { modulusLength: 2048 })
    pairs.set(provider, pair)
    return pair
  }
  let held: HeldKey | undefined
  const { server, authority } = await serve(async (path, body) => {
    const provider = publishedProviders.find((one) => path === `/keys/${issuers[one]}`)
    if (provider !== undefined) return buildKeySet(provider)
    if (path === '/peer/certs') return buildKeySet('peer')
    if (path === '/peer/privilegedunwrap' && held !== undefined) return releaseKey(held, peerUrl, body)
    return undefined
  })
  const buildKeySet = (provider: MockProvider) => ({ keys: [publicJwk(getKeyPair(provider).publicKey)] })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const peerUrl = `${origin}/peer`
  const getIssuer = (provider: MockProvider): string => (provider === 'peer' ? peerUrl : issuers[provider])
  return {
    authority,
    keySets: `${origin}/keys/`,
    peerUrl,
    getIssuer,
    token(provider, claims) {
      const now = Math.floor(Date.now() / 1000)
      const { privateKey, publicKey } = getKeyPair(provider)
      const header = { alg: 'RS256', typ: 'JWT', kid: publicJwk(publicKey).kid }
      return signToken(header, { iss: getIssuer(provider), iat: now, exp: now + 300, ...claims }, privateKey)
    },
    holdKey: (key) => {
      held = key
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const formatTokenIssuer = (application: string): string =>
  `gsuitecse-tokenissuer-${application}@system.gserviceaccount.com`
const publishedProviders: readonly Exclude<MockProvider, 'peer'>[] = [
  'drive',
  'meet',
  'gmail',
  'migration',
  'provider',
  'guests',
]
/** Names from Google's reference ("Configure your service"); no setting names `untrusted`. */
const issuers: Readonly<Record<Exclude<MockProvider, 'peer'>, string>> = {
  drive: formatTokenIssuer('drive'),
  meet: formatTokenIssuer('meet'),
  gmail: formatTokenIssuer('gmail'),
  migration: 'apps-security-cse-kaclscommunication@system.gserviceaccount.com',
  provider: 'https://idp.rehearsal.invalid',
  guests: 'https://guests.rehearsal.invalid',
  untrusted: 'https://untrusted.self-test.invalid',
}

/** Releases the key like the source of a migration at Google: only for a token for this service and this resource. */
async function releaseKey(held: HeldKey, peerUrl: string, body: string): Promise<object | undefined> {
  const { ask, kaclsUrl, resourceName, wrappedKey, key } = held
  const { authentication, resource_name, wrapped_key } = JSON.parse(body) as Record<string, unknown>
  if (resource_name !== resourceName || wrapped_key !== wrappedKey) return undefined
  const certs = await ask('certs')
  const expected = {
    issuer: kaclsUrl,
    audience: ['kacls-migration'],
    requiredClaims: ['exp', 'iat'],
    leewaySeconds: 60,
    algorithms: ['RS256'],
  }
  const token = peekToken(String(authentication))
  const { claims } = await verifyToken(token, createInlineKeySet(certs.json), expected, systemClock)
  return claims.kacls_url === peerUrl && claims.resource_name === resourceName ? { key } : undefined
}

type Handler = (path: string, body: string) => Promise<object | undefined>

async function serve(handle: Handler): Promise<{ readonly server: Server; readonly authority: string }> {
  const plan = {
    hostnames: [],
    addresses: ['127.0.0.1'],
    notBefore: new Date(Date.now() - hourMs),
    notAfter: new Date(Date.now() + hourMs),
  }
  const authority = await issueCertificate(
    { ...plan, addresses: [], purpose: 'authority', commonName: 'Warder rehearsal' },
    undefined,
  )
  const own = await issueCertificate({ ...plan, purpose: 'server', commonName: '127.0.0.1' }, authority)
  const server = createServer({ cert: own.certificatePem, key: own.keyPem }, (request, response) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBodyBytes) request.destroy()
      else chunks.push(chunk)
    })
    request.on('end', () => {
      const refuse = (): void => void response.writeHead(403).end('{}')
      handle(decodeURIComponent(request.url ?? ''), Buffer.concat(chunks).toString('utf8')).then((answer) => {
        if (answer === undefined) refuse()
        else response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
      }, refuse)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, authority: authority.certificatePem }
}
