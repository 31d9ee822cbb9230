import { X509Certificate } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { inHome, StartupError } from '@warder/base'
import type { Server } from './https-client.ts'

export const serviceNames = ['auth', 'kms'] as const
export type ServiceName = (typeof serviceNames)[number]

/** Parameters to verify a certificate of the operator instead of one of the local authority. */
export interface OwnTls {
  /** A name in the certificate, if it does not cover the listen address. */
  readonly server_name?: string
  /** PEM file to trust, relative to the home; undefined: the authorities of the system. */
  readonly ca_file?: string
}

export interface ServiceEndpoint {
  readonly url: string
  readonly tls?: OwnTls
}

/** Content of `endpoints.json`. */
export interface Endpoints {
  readonly auth: ServiceEndpoint
  readonly kms: ServiceEndpoint
  /** The KMIP socket, if it is open; it has the certificate of the kms. */
  readonly kmip?: { readonly host: string; readonly port: number }
}

/** Writes `endpoints.json` atomically; its presence means that both services respond. */
export function writeEndpoints(home: string, endpoints: Endpoints): void {
  const path = join(home, 'endpoints.json')
  const file = openSync(`${path}.new`, 'w', 0o600)
  writeFileSync(file, `${JSON.stringify(endpoints, undefined, 2)}\n`)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.new`, path)
}

export function removeEndpoints(home: string): void {
  rmSync(join(home, 'endpoints.json'), { force: true })
}

/** Reads `endpoints.json` of a home. @throws StartupError when the services are not started */
export function readEndpoints(home: string): Endpoints {
  const path = join(home, 'endpoints.json')
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new StartupError(
        `${path} does not exist: are the services running? (warder start, with the same home; services elsewhere: warder login --url URL)`,
      )
    if (code === 'EACCES' || code === 'EPERM')
      throw new StartupError(
        `${path}: permission denied, it belongs to another user (name your services with --home, or with --url and --auth-url)`,
      )
    // Reported below.
  }
  const found = (json ?? {}) as { auth?: { url?: unknown }; kms?: { url?: unknown } }
  if (typeof found.auth?.url === 'string' && typeof found.kms?.url === 'string') return json as Endpoints
  throw new StartupError(`${path} contains no addresses of the services: restart them`)
}

/** Resolves an endpoint of a home for a client. @param caFile authority to trust instead of that of the home */
export function toServer(home: string, { url, tls }: ServiceEndpoint, caFile?: string): Server {
  return { url, caFile: caFile ?? findTrustedFile(home, tls), serverName: tls?.server_name }
}

/**
 * Finds the file that may contain the password of the first administrator, for a login at this address.
 * @returns undefined for another address than that of the home, which must not receive the password
 */
export function findInitialPasswordFile(home: string, authUrl: string): string | undefined {
  try {
    const ofHome = new URL(readEndpoints(home).auth.url).origin === new URL(authUrl).origin
    return ofHome ? join(home, 'initial-admin-password') : undefined
  } catch (error) {
    if (error instanceof StartupError) return undefined
    throw error
  }
}

function findTrustedFile(home: string, tls: OwnTls | undefined): string | undefined {
  if (tls !== undefined) return tls.ca_file === undefined ? undefined : inHome(home, tls.ca_file)
  const localAuthority = join(home, 'tls', 'ca.crt')
  return existsSync(localAuthority) ? localAuthority : undefined
}

/** Formats a path for `ca_file`: relative to the home if inside it, so that the home can be mounted elsewhere. */
export function toHomePath(home: string, file: string): string {
  const name = relative(home, file)
  return name.startsWith('..') || isAbsolute(name) ? file : name
}

/** @throws StartupError for a file without a certificate, which could verify no server */
export function requireAuthority(file: string): void {
  if (!existsSync(file)) throw new StartupError(`${file} does not exist`)
  try {
    new X509Certificate(readFileSync(file))
  } catch {
    throw new StartupError(`${file} contains no certificate in PEM`)
  }
}
