import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createInlineKeySet, peekToken, publicJwk, signToken, verifyToken } from '@warder/foundation/jwt'
import { systemClock } from '@warder/foundation/runtime'
import { issueCertificate } from '@warder/foundation/tls'
import type { AskKacls } from './google-answers.ts'

type Claims = Readonly<Record<string, unknown>>

/** Parties whose tokens are made here, each by a key of its own. */
export type Party = 'drive' | 'meet' | 'gmail' | 'migration' | 'provider' | 'guests' | 'peer' | 'stranger'

/**
 * Those whom a key service talks with, played on loopback: Google's issuers, identity providers, and another key service.
 * Their keys are made for one rehearsal and kept in memory.
 */
export interface GoogleParties {
  /** PEM of the authority of their certificate. */
  readonly authority: string
  /** Base address of their key sets, with a slash at the end; the name of the issuer follows. */
  readonly keySets: string
  /** Address of the other key service. */
  readonly peerUrl: string
  issuerOf(party: Party): string
  /** A token of five minutes. */
  token(party: Party, claims: Claims): string
  /** Sets the key of tokens that the other key service holds. */
  holdKey(held: HeldKey): void
  close(): Promise<void>
}

/** A key that the other key service gives to the key service at `kaclsUrl`, for the resource. */
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
const mostBytes = 65_536

export async function startGoogleParties(): Promise<GoogleParties> {
  const pairs = new Map<Party, KeyPair>()
  const pairOf = (party: Party): KeyPair => {
    const pair = pairs.get(party) ?? generateKeyPairSync('rsa', { modulusLength: 2048 })
    pairs.set(party, pair)
    return pair
  }
  let held: HeldKey | undefined
  const { server, authority } = await serve(async (path, body) => {
    const party = parties.find((one) => path === `/keys/${issuers[one]}`)
    if (party !== undefined) return keySetOf(party)
    if (path === '/peer/certs') return keySetOf('peer')
    if (path === '/peer/privilegedunwrap' && held !== undefined) return givenUp(held, peerUrl, body)
    return undefined
  })
  const keySetOf = (party: Party) => ({ keys: [publicJwk(pairOf(party).publicKey)] })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const peerUrl = `${origin}/peer`
  const issuerOf = (party: Party): string => (party === 'peer' ? peerUrl : issuers[party])
  return {
    authority,
    keySets: `${origin}/keys/`,
    peerUrl,
    issuerOf,
    token(party, claims) {
      const now = Math.floor(Date.now() / 1000)
      const { privateKey, publicKey } = pairOf(party)
      const header = { alg: 'RS256', typ: 'JWT', kid: publicJwk(publicKey).kid }
      return signToken(header, { iss: issuerOf(party), iat: now, exp: now + 300, ...claims }, privateKey)
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

const tokenIssuer = (application: string): string =>
  `gsuitecse-tokenissuer-${application}@system.gserviceaccount.com`
const parties: readonly Exclude<Party, 'peer'>[] = [
  'drive',
  'meet',
  'gmail',
  'migration',
  'provider',
  'guests',
]
/** Of Google as its reference names them ("Configure your service"); `stranger` is nobody's whom settings name. */
const issuers: Readonly<Record<Exclude<Party, 'peer'>, string>> = {
  drive: tokenIssuer('drive'),
  meet: tokenIssuer('meet'),
  gmail: tokenIssuer('gmail'),
  migration: 'apps-security-cse-kaclscommunication@system.gserviceaccount.com',
  provider: 'https://idp.rehearsal.invalid',
  guests: 'https://guests.rehearsal.invalid',
  stranger: 'https://stranger.rehearsal.invalid',
}

/** Checks of Google on the key service that keys are moved from: the token must be for it, and for this resource. */
async function givenUp(held: HeldKey, peerUrl: string, body: string): Promise<object | undefined> {
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
      if (length > mostBytes) request.destroy()
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
