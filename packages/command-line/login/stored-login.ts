import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from '../https-client.ts'

/** Identity of a service for a stored login: another address or trusted authority is another service. */
export interface ServiceId {
  readonly url: string
  /** SHA-256 of the authority's file; `system`: those of the system. */
  readonly ca: string
  /** Expected name in its certificate, if it is not that of the address. */
  readonly serverName?: string
}

/** The services of a login; its token is sent to no others. */
export interface LoginServices {
  /** The service that issued it; undefined: a given token, without a known authentication service. */
  readonly auth: ServiceId | undefined
  readonly kms: ServiceId
}

/** `session`: of the authentication service; `app`: a machine's token; `token`: of another issuer, or an API token. */
export type LoginKind = 'session' | 'app' | 'token'

/** A login for several commands, without its token. Stored as JSON. */
export interface LoginFacts {
  readonly kind: LoginKind
  readonly places: LoginServices
  readonly username: string
  readonly realm: string | undefined
  /** In words: `password`, `SAML`, `AppRole` … */
  readonly how: string
  readonly sessionId: string | undefined
  /** Unix seconds; undefined: not known. */
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

/** Hashes the services for the file name, so that a new login replaces the previous one. */
export function hashServices(places: LoginServices): string {
  const parts = [places.auth, places.kms].map((id) => [id?.url, id?.ca, id?.serverName])
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** Formats `alice of realm shop`. */
export function formatUserName({ username, realm }: Pick<LoginFacts, 'username' | 'realm'>): string {
  return realm === undefined ? username : `${username} of realm ${realm}`
}

/** Formats the command for a new login. */
export function formatLoginCommand({ kind, username, realm, how }: LoginFacts): string {
  if (kind === 'app') return 'warder login --approle'
  if (kind === 'token') return 'warder login --token-file FILE'
  if (how === 'SAML') return `warder login --saml --realm ${realm}`
  if (how === 'passkey') return `warder login --browser --realm ${realm}`
  return `warder login --realm ${realm} --user ${username}`
}
