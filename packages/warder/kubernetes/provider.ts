import type { Credentials, KmsClient } from '@warder/client'
import { ClientError } from '@warder/client'
import { decodeCiphertext, encodeCiphertext, readKeyId, type Sealed } from './ciphertext.ts'
import type { MachineTokens } from './machine-tokens.ts'
import type { DecryptRequest, EncryptRequest, EncryptResponse, StatusResponse } from './messages.ts'
import { Refused, toProviderError } from './refused.ts'

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
