import { ClientError, type Credentials, type KmsClient } from '@warder/client'
import type { MachineTokens } from './machine-tokens.ts'
import type { DecryptRequest, EncryptRequest, EncryptResponse, StatusResponse } from './messages.ts'
import { Refused, toProviderError } from './refused.ts'

/** An encrypted key of the API server, as members of a flattened JWE (RFC 7516), base64url. */
interface Sealed {
  readonly protected: string
  readonly iv: string
  readonly ciphertext: string
  readonly tag: string
}

/** Limits of the upstream interface on a ciphertext and on a key id. */
const maxCiphertextBytes = 1024
const maxKeyIdBytes = 1024
const format = 1
const ivBytes = 12
const tagBytes = 16
const headerAt = 3

/**
 * Encodes the compact form: 1 ‖ length of the protected header, two bytes ‖ the header as JSON ‖ iv 12 ‖ tag 16 ‖ ciphertext.
 * @throws Refused when it exceeds the limit of the interface
 */
export function encodeCiphertext(sealed: Sealed): Buffer {
  const header = Buffer.from(sealed.protected, 'base64url')
  const iv = Buffer.from(sealed.iv, 'base64url')
  const tag = Buffer.from(sealed.tag, 'base64url')
  if (iv.length !== ivBytes || tag.length !== tagBytes)
    throw new Refused(
      'internal',
      'the key management service used another cipher than AES-GCM: --key must be an AES key of 256 bits',
    )
  const start = Buffer.alloc(headerAt)
  start[0] = format
  start.writeUInt16BE(header.length, 1)
  const all = Buffer.concat([start, header, iv, tag, Buffer.from(sealed.ciphertext, 'base64url')])
  if (all.length > maxCiphertextBytes)
    throw new Refused(
      'invalid',
      `the plaintext is too long: its ciphertext would exceed ${maxCiphertextBytes} bytes`,
    )
  return all
}

/** Decodes the compact form. @throws Refused for bytes of another origin */
function decodeCiphertext(bytes: Uint8Array): Sealed {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (
    buffer.length > maxCiphertextBytes ||
    buffer.length < headerAt + ivBytes + tagBytes ||
    buffer[0] !== format
  )
    throw createForeignError()
  const ivAt = headerAt + buffer.readUInt16BE(1)
  const tagAt = ivAt + ivBytes
  const ciphertextAt = tagAt + tagBytes
  if (ciphertextAt > buffer.length) throw createForeignError()
  const encodePart = (from: number, to?: number): string => buffer.subarray(from, to).toString('base64url')
  return {
    protected: encodePart(headerAt, ivAt),
    iv: encodePart(ivAt, tagAt),
    tag: encodePart(tagAt, ciphertextAt),
    ciphertext: encodePart(ciphertextAt),
  }
}

/** Reads the key version in a protected header. @throws Refused */
function readKeyId(header: string): string {
  const json = parseHeader(Buffer.from(header, 'base64url').toString('utf8'))
  const { kid } = (json ?? {}) as { kid?: unknown }
  if (typeof kid !== 'string' || kid === '' || Buffer.byteLength(kid) > maxKeyIdBytes)
    throw createForeignError()
  return kid
}

function parseHeader(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw createForeignError()
  }
}

function createForeignError(): Refused {
  return new Refused('invalid', 'the ciphertext was not made by this provider')
}

export interface ProviderOptions {
  /** Id or alias of the key. */
  readonly key: string
  readonly tokens: Pick<MachineTokens, 'current' | 'invalidate'>
  client(credentials: Credentials): KmsClient
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

/** Additional data of every ciphertext, so that the socket cannot decrypt other data of the key. */
const purpose = Buffer.from('kubernetes kms v2').toString('base64url')
const probe = Buffer.from('status').toString('base64url')
/** Cache time of a probe; Status shows the new key id of a rotation within that time. */
const probeMs = 2000

/**
 * The three calls of the interface (KMS v2). The key id is that of the current key version; Decrypt accepts former versions
 * as long as the key management service has them.
 */
export class Provider {
  readonly #options: ProviderOptions
  readonly #now: () => number
  #open: { readonly credentials: Credentials; readonly client: SharedClient } | undefined
  #keyId: string | undefined
  #probed: { readonly at: number; readonly healthz: string } | undefined
  #probing: Promise<string> | undefined

  constructor(options: ProviderOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Whether the last probe succeeded. */
  get healthy(): boolean {
    return this.#probed?.healthz === 'ok'
  }

  /** Probes encryption and decryption. @throws Refused while no key id is known */
  async status(): Promise<StatusResponse> {
    const recent = this.#probed !== undefined && this.#now() - this.#probed.at < probeMs
    const healthz = recent ? (this.#probed?.healthz ?? '') : await this.#probe()
    // A Status requires a key id.
    if (this.#keyId === undefined) throw new Refused('unavailable', healthz)
    return { version: 'v2', healthz, keyId: this.#keyId }
  }

  async encrypt({ plaintext }: EncryptRequest): Promise<EncryptResponse> {
    const sealed = await this.#seal(Buffer.from(plaintext).toString('base64url'))
    const keyId = readKeyId(sealed.protected)
    const ciphertext = encodeCiphertext(sealed)
    this.#keyId = keyId
    return { ciphertext, keyId }
  }

  /** @throws Refused also for another key id than the one that Encrypt returned with this ciphertext */
  async decrypt({ ciphertext, keyId, annotations }: DecryptRequest): Promise<Uint8Array> {
    const sealed = decodeCiphertext(ciphertext)
    if (readKeyId(sealed.protected) !== keyId)
      throw new Refused('invalid', 'the key id does not belong to this ciphertext')
    if (annotations > 0)
      throw new Refused('invalid', 'annotations are not supported: this provider never returns any')
    return this.#decrypt(sealed)
  }

  close(): void {
    this.#open?.client.retire()
    this.#open = undefined
  }

  #probe(): Promise<string> {
    this.#probing ??= this.#tryBoth().then((healthz) => {
      this.#probed = { at: this.#now(), healthz }
      this.#probing = undefined
      return healthz
    })
    return this.#probing
  }

  async #tryBoth(): Promise<string> {
    try {
      const sealed = await this.#seal(probe)
      await this.#decrypt(sealed)
      this.#keyId = readKeyId(sealed.protected)
      return 'ok'
    } catch (error) {
      return toProviderError(error).message
    }
  }

  #seal(data: string): Promise<Sealed> {
    const body = { kid: this.#options.key, alg: 'dir', enc: 'A256GCM', data, aad: purpose }
    return this.#call((client) => client.call('crypto.encrypt', { body }))
  }

  async #decrypt(sealed: Sealed): Promise<Buffer> {
    const body = { ...sealed, encrypted_key: '', aad: purpose }
    const { data } = await this.#call((client) => client.call('crypto.decrypt', { body }))
    return Buffer.from(data, 'base64url')
  }

  /** Replaces a rejected token once. */
  async #call<R>(act: (client: KmsClient) => Promise<R>): Promise<R> {
    const { tokens } = this.#options
    try {
      const credentials = await tokens.current()
      try {
        return await this.#clientFor(credentials).use(act)
      } catch (error) {
        if (!(error instanceof ClientError) || error.kind !== 'unauthorized') throw error
        tokens.invalidate(credentials)
      }
      return await this.#clientFor(await tokens.current()).use(act)
    } catch (error) {
      throw toProviderError(error)
    }
  }

  #clientFor(credentials: Credentials): SharedClient {
    const before = this.#open
    const same =
      before?.credentials.bearer === credentials.bearer &&
      before?.credentials.secretToken === credentials.secretToken
    if (before !== undefined && same) return before.client
    before?.client.retire()
    const client = new SharedClient(this.#options.client(credentials))
    this.#open = { credentials, client }
    return client
  }
}

/** A client that is closed when it is retired and its last call has finished. */
class SharedClient {
  readonly #client: KmsClient
  #calls = 0
  #retired = false

  constructor(client: KmsClient) {
    this.#client = client
  }

  async use<R>(act: (client: KmsClient) => Promise<R>): Promise<R> {
    this.#calls += 1
    try {
      return await act(this.#client)
    } finally {
      this.#calls -= 1
      this.#closeIdle()
    }
  }

  retire(): void {
    this.#retired = true
    this.#closeIdle()
  }

  #closeIdle(): void {
    if (this.#retired && this.#calls === 0) this.#client.close()
  }
}
