import { readFileSync } from 'node:fs'
import { parseStrictObject, StartupError } from '@warder/base'
import { createOutbound, type Outbound, OutboundError, type OutboundResponse } from '@warder/outbound'
import { RootKeyUnavailable } from '@warder/storage'
import type { CloudAccess } from './cloud-settings.ts'

/** Limits of each request. A provider needs at most three requests, and its attempt is aborted after 30 seconds. */
const requestLimits = { timeoutMs: 8000, maxBytes: 65_536 }

/**
 * The client for a cloud and its credentials. Only the operator sets its addresses, so they may be private, such as the
 * endpoint of a private network.
 * @param ownCaFile of the source; undefined = that of all outbound connections
 */
export function createCloudClient(
  ownCaFile: string | undefined,
  { outbound_ca_file, proxy }: CloudAccess,
  resolvePath: (path: string) => string,
): Outbound {
  const caFile = ownCaFile ?? outbound_ca_file
  return createOutbound({
    allowPrivateNetworks: true,
    proxy,
    allowLinkLocal: false,
    caFile: caFile === undefined ? undefined : resolvePath(caFile),
    ...requestLimits,
  })
}

/** Members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>

/** A whole reply. */
export interface Reply extends OutboundResponse {
  /** The body, if it is a JSON object without duplicate members. */
  readonly json: Members | undefined
}

/**
 * Waits for the reply of a server.
 * @param server names it in errors
 * @throws RootKeyUnavailable for one that does not respond, or not now; StartupError for one that cannot be used
 */
export async function receive(server: string, sent: Promise<OutboundResponse>): Promise<Reply> {
  try {
    const reply = await sent
    return { ...reply, json: parseStrictObject(reply.body) }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (['size', 'redirect', 'url', 'address'].includes(error.code))
      throw new StartupError(`${server} cannot be used: ${error.message}`, { cause: error })
    throw new RootKeyUnavailable(`${server}: ${error.message}`, { cause: error })
  }
}

/** Whether a later attempt may succeed. */
export function isTemporary(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

/** A value of a server for an error message: printable, short, and without words that are as long as tokens. */
export function toPhrase(value: unknown): string {
  if (typeof value !== 'string') return ''
  return value
    .replace(/[^\x20-\x7e]+/g, ' ')
    .replace(/\S{200,}/g, '...')
    .slice(0, 300)
}

/** A reply that refuses an operation. */
interface Refusal {
  readonly server: string
  readonly operation: string
  /** Status, codes, or both. */
  readonly code: string | number
  /** As the server sent it. */
  readonly message: unknown
  /** Another attempt may succeed. */
  readonly temporary: boolean
  /** What to do; undefined: the code explains itself. */
  readonly advice: string | undefined
}

export function toRefusalError(refusal: Refusal): RootKeyUnavailable | StartupError {
  const { server, operation, code, temporary, advice } = refusal
  const message = toPhrase(refusal.message)
  const reason = `${code}${message === '' ? '' : `: ${message}`}`
  return temporary
    ? new RootKeyUnavailable(`${server} replied to ${operation} with ${reason}`)
    : new StartupError(
        `${server} refused ${operation} with ${reason}${advice === undefined ? '' : `; ${advice}`}`,
      )
}

/**
 * Decodes the bytes of a member of a reply.
 * @param encoding base64 with its padding, or base64url without (RFC 4648 §4, §5)
 * @throws StartupError for anything else
 */
export function decodeMember(
  server: string,
  reply: Members,
  member: string,
  encoding: 'base64' | 'base64url' = 'base64',
): Buffer {
  const value = reply[member]
  const bytes = Buffer.from(typeof value === 'string' ? value : '', encoding)
  if (bytes.length === 0 || bytes.toString(encoding) !== value)
    throw new StartupError(`${server} replied without a valid ${member}`)
  return bytes
}

/** Reads a token that a platform writes into a file, with a mode of its own, and replaces before it expires. */
export function readTokenFile(path: string, what: string): string {
  let token: string
  try {
    token = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${what}: cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
  if (!/^[\x21-\x7e]{1,16384}$/.test(token))
    throw new StartupError(`${what}: ${path} must contain exactly one line, the token`)
  return token
}

/** A credential that may expire. */
export interface Expiring {
  /** Unix milliseconds; absent: it is valid until it is replaced, and fetched for each use. */
  readonly expiresAt?: number | undefined
}

/** Credentials are renewed this long before they expire, as the clients of the clouds do. */
const renewalMs = 300_000

/** A credential, renewed before it expires and after a refusal. */
export class CredentialCache<Credential extends Expiring> {
  readonly #fetch: () => Promise<Credential>
  readonly #now: () => number
  #current: Credential | undefined

  constructor(fetch: () => Promise<Credential>, now: () => number) {
    this.#fetch = fetch
    this.#now = now
  }

  /** Calls with the credential, and once more with a new one if the reply refuses it. */
  async use<Result>(
    call: (credential: Credential) => Promise<Result>,
    refusesCredential: (result: Result) => boolean,
  ): Promise<Result> {
    const result = await call(await this.#get())
    if (!refusesCredential(result)) return result
    this.#current = undefined
    return call(await this.#get())
  }

  async #get(): Promise<Credential> {
    const { expiresAt } = this.#current ?? {}
    if (this.#current === undefined || expiresAt === undefined || expiresAt - renewalMs <= this.#now())
      this.#current = await this.#fetch()
    return this.#current
  }
}

const wrappedVersion = 1

/** Wrapped bytes with the key that wrapped them: version (1 byte) | length of the name (2) | name | bytes of the cloud. */
export function encodeWrapped(keyName: string, ciphertext: Uint8Array): Buffer {
  const name = Buffer.from(keyName)
  const head = Buffer.alloc(3)
  head.writeUInt8(wrappedVersion)
  head.writeUInt16BE(name.length, 1)
  return Buffer.concat([head, name, ciphertext])
}

/** @throws StartupError */
export function decodeWrapped(
  wrapped: Uint8Array,
  source: string,
): { readonly keyName: string; readonly ciphertext: Buffer } {
  const bytes = Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength)
  const end = bytes.length < 3 ? 0 : 3 + bytes.readUInt16BE(1)
  const keyName = bytes.toString('latin1', 3, end)
  if (bytes[0] !== wrappedVersion || !/^[\x21-\x7e]{1,2048}$/.test(keyName) || bytes.length <= end)
    throw new StartupError(
      `the wrapped root key was not made by root_key_source ${source}, or by a later version of Warder`,
    )
  return { keyName, ciphertext: bytes.subarray(end) }
}

/** Names the key that wrapped the root key in the error of an unwrapping that was refused. */
export function addKeyName(keyName: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof StartupError)) throw error
    throw new StartupError(`${error.message} (the root key was wrapped by ${keyName})`, { cause: error })
  }
}
