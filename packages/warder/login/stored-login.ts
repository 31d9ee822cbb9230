import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from '../client/index.ts'

/** A service as a kept login is bound to it: another address, or another authority to trust, is another service. */
export interface ServiceId {
  readonly url: string
  /** SHA-256 of the authority's file; `system`: those of the system. */
  readonly ca: string
  /** The name that its certificate has to have, where it is not the one of the address. */
  readonly serverName?: string
}

/** The services that a login is for: its token is shown to no others. */
export interface LoginServices {
  /** Service at which it began; undefined: a token that somebody brought, for a place without an authentication service. */
  readonly auth: ServiceId | undefined
  readonly kms: ServiceId
}

/** `session`: of the authentication service; `app`: a machine's token; `token`: of another issuer, or an API token. */
export type LoginKind = 'session' | 'app' | 'token'

/** A login that lasts longer than one command, without its token. */
export interface LoginFacts {
  readonly kind: LoginKind
  readonly places: LoginServices
  readonly username: string
  readonly realm: string | undefined
  /** In words: `password`, `SAML`, `AppRole` … */
  readonly how: string
  readonly sessionId: string | undefined
  /** Unix seconds; undefined: nobody says. */
  readonly expiresAt: number | undefined
}

export interface StoredLogin extends LoginFacts {
  readonly token: string
}

/** @throws Error when the authority's file cannot be read */
export function toServiceId({ url, caFile, serverName }: Server): ServiceId {
  const ca = caFile === undefined ? 'system' : createHash('sha256').update(readFileSync(caFile)).digest('hex')
  return { url: new URL(url).origin, ca, ...(serverName !== undefined && { serverName }) }
}

export function isSameService(a: ServiceId | undefined, b: ServiceId | undefined): boolean {
  return a?.url === b?.url && a?.ca === b?.ca && a?.serverName === b?.serverName
}

/** The same places, the same name: a new login takes the place of the one before. */
export function hashServices(places: LoginServices): string {
  const parts = [places.auth, places.kms].map((id) => [id?.url, id?.ca, id?.serverName])
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** `alice of realm shop`. */
export function formatUserName({ username, realm }: Pick<LoginFacts, 'username' | 'realm'>): string {
  return realm === undefined ? username : `${username} of realm ${realm}`
}

/** How to get a new one. */
export function formatLoginCommand({ kind, username, realm, how }: LoginFacts): string {
  if (kind === 'app') return 'warder login --approle'
  if (kind === 'token') return 'warder login --token-file FILE'
  if (how === 'SAML') return `warder login --saml --realm ${realm}`
  return `warder login --realm ${realm} --user ${username}`
}
