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
import { StartupError } from '@warder/foundation/errors'
import { inHome } from '@warder/foundation/home'
import type { Server } from '../client/https-client.ts'

/** How clients verify a certificate of the user's own, in place of one of the local authority. */
export interface OwnTls {
  /** The name in the certificate, where it has none for the address that the service listens on. */
  readonly server_name?: string
  /** PEM file to trust, from the home; none: the system's authorities. */
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
  /** Only while the KMIP socket listens; it has the certificate of the kms. */
  readonly kmip?: { readonly host: string; readonly port: number }
}

/** Writes `endpoints.json` whole or not at all; whoever finds it can talk to both services. */
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
        `${path} is not there: are the services started? (warder start, with the same home)`,
      )
    if (code === 'EACCES' || code === 'EPERM')
      throw new StartupError(
        `${path}: permission denied; it is of another user (say where your services are: --home, or --url and --auth-url)`,
      )
    // Said below.
  }
  const found = (json ?? {}) as { auth?: { url?: unknown }; kms?: { url?: unknown } }
  if (typeof found.auth?.url === 'string' && typeof found.kms?.url === 'string') return json as Endpoints
  throw new StartupError(`${path} does not say where the services are: start them again`)
}

/** How a client reaches a started service of a home. @param caFile to trust, whatever the home says */
export function toServer(home: string, { url, tls }: ServiceEndpoint, caFile?: string): Server {
  return { url, caFile: caFile ?? findTrustedFile(home, tls), serverName: tls?.server_name }
}

/**
 * Where the first administrator's password may lie, for a login at this address.
 * @returns undefined for an address that is not of the home: its password is for its own services
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

/** A file as `ca_file` names it: from the home where it is in there, so that the home may be mounted elsewhere. */
export function toHomePath(home: string, file: string): string {
  const name = relative(home, file)
  return name.startsWith('..') || isAbsolute(name) ? file : name
}
