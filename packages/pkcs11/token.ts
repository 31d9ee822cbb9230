import { createHash, randomBytes, type webcrypto } from 'node:crypto'
import { type CurveName, curves, keyTypes, maskGenerationFunctions, mechanisms } from './constants.ts'
import {
  type CipherMechanism,
  type KeyAttributes,
  type KeyReference,
  maxDataBytes,
  maxKeys,
  type NewKeyPair,
  type PublicMaterial,
  type Requests,
  type SignMechanism,
  type TokenError,
  type TokenInfo,
} from './protocol.ts'
import { type Sessions, type TokenOptions, TokenSessions } from './token-sessions.ts'

/** A key by its label (CKA_LABEL), its identifier (CKA_ID, hexadecimal), or both; there must be exactly one. */
export type KeyName = { readonly label: string; readonly id?: string } | { readonly id: string }

/**
 * How data is encrypted: AES-GCM, or AES key wrap with and without padding (RFC 5649, RFC 3394) for tokens that have no
 * AES-GCM. Key wrap has no additional data: its digest is encrypted with the data.
 */
const encryptions = {
  A256GCM: mechanisms.CKM_AES_GCM,
  A256KWP: mechanisms.CKM_AES_KEY_WRAP_PAD,
  A256KW: mechanisms.CKM_AES_KEY_WRAP,
} as const

export type Encryption = keyof typeof encryptions

export interface Encrypted {
  readonly algorithm: Encryption
  /** Empty for key wrap. */
  readonly iv: Uint8Array
  /** Of AES-GCM: with the tag of 16 bytes at its end. */
  readonly ciphertext: Uint8Array
}

const hashes = { 256: 'sha256', 384: 'sha384', 512: 'sha512' } as const

/** Signatures by their names in JOSE (RFC 7518 §3.1, RFC 8037 §3.1). */
export type SignatureAlgorithm = `${'RS' | 'PS' | 'ES'}${keyof typeof hashes}` | 'EdDSA'

/** DigestInfo of RFC 8017 §9.2, note 1, before the digest: CKM_RSA_PKCS does the padding alone. */
const digestInfo = {
  256: '3031300d060960864801650304020105000420',
  384: '3041300d060960864801650304020205000430',
  512: '3051300d060960864801650304020305000440',
} as const

const ecdsaBytes = { 256: 64, 384: 96, 512: 132 } as const
const gcm: CipherMechanism = { mechanism: mechanisms.CKM_AES_GCM, parameters: 'gcm' }
/** Of AES-GCM (SP 800-38D §8.2.2: random, 96 bits). */
const ivBytes = 12
const maxRandomBytes = 4096

/** Opens a token: starts the library in its own process, logs in. @throws TokenError */
export async function openToken(options: TokenOptions): Promise<Token> {
  const sessions = new TokenSessions(options)
  try {
    await sessions.connect()
  } catch (error) {
    await sessions.close()
    throw error
  }
  return new Token(sessions)
}

/** A PKCS#11 token. Every method may throw a `TokenError`, which names the token. */
export class Token {
  readonly #sessions: Sessions

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  get info(): TokenInfo {
    const { info } = this.#sessions
    if (info === undefined) throw this.#sessions.error('closed', 'it was never open')
    return info
  }

  /** The encryptions that the token has, AES-GCM first. */
  get encryptions(): readonly Encryption[] {
    const names = Object.keys(encryptions) as Encryption[]
    return names.filter((name) => this.info.mechanisms.includes(encryptions[name]))
  }

  /** The first of them. */
  get encryption(): Encryption {
    const [first] = this.encryptions
    if (first === undefined)
      throw this.#sessions.error('not_supported', 'it has neither AES-GCM nor AES key wrap')
    return first
  }

  /**
   * Generates an AES-256 key that never leaves the token.
   * @param label that no secret key of the token has
   * @param encryption use of the key: one for key wrap cannot decrypt, so that it reveals no wrapped key
   */
  async generateKey(label: string, encryption: Encryption = this.encryption): Promise<KeyAttributes> {
    const uses = encryption === 'A256GCM' ? (['encrypt', 'decrypt'] as const) : (['wrap', 'unwrap'] as const)
    return this.generateSecret({ label, id: newId(), type: 'AES', bytes: 32, uses })
  }

  /** Generates a secret key of any size and use, that never leaves the token. */
  async generateSecret(key: Requests['generateKey']): Promise<KeyAttributes> {
    const answer = await this.#sessions.request('generateKey', key)
    return answer.result as KeyAttributes
  }

  /**
   * Generates a key pair whose private key never leaves the token.
   * @param options.id of both keys (CKA_ID, hexadecimal); default: random
   * @param options.uses of the private key; default: it signs
   * @returns the attributes of the private key
   */
  async generateKeyPair(
    label: string,
    type: { readonly rsaBits: number } | { readonly curve: CurveName },
    options: { readonly id?: string; readonly uses?: Requests['generateKeyPair']['uses'] } = {},
  ): Promise<KeyAttributes> {
    const { id = newId(), uses = ['sign'] } = options
    const answer = await this.#sessions.request('generateKeyPair', { label, id, uses, pair: toPair(type) })
    return answer.result as KeyAttributes
  }

  /** @param additionalData authenticated with the data, and needed to decrypt them */
  async encrypt(
    key: KeyName,
    plaintext: Uint8Array,
    options: { readonly additionalData?: Uint8Array; readonly algorithm?: Encryption } = {},
  ): Promise<Encrypted> {
    const { additionalData = new Uint8Array(0), algorithm = this.encryption } = options
    const reference: KeyReference = { class: 'secret', ...key }
    this.#requireSize(plaintext, additionalData)
    if (algorithm === 'A256GCM') {
      const parts = [randomBytes(ivBytes), additionalData, plaintext]
      const answer = await this.#sessions.request('encrypt', { key: reference, ...gcm }, parts)
      const [iv, ciphertext] = this.#requireParts(answer.parts, 2)
      return { algorithm, iv, ciphertext }
    }
    const data = packForWrap(plaintext, additionalData)
    try {
      const request = { key: reference, mechanism: encryptions[algorithm] }
      const answer = await this.#sessions.request('seal', request, [data])
      const [ciphertext] = this.#requireParts(answer.parts, 1)
      return { algorithm, iv: new Uint8Array(0), ciphertext }
    } finally {
      data.fill(0)
    }
  }

  /** @throws TokenError `invalid_data` for another key, other additional data or a changed ciphertext */
  async decrypt(
    key: KeyName,
    { algorithm, iv, ciphertext }: Encrypted,
    additionalData: Uint8Array = new Uint8Array(0),
  ): Promise<Buffer> {
    const reference: KeyReference = { class: 'secret', ...key }
    this.#requireSize(ciphertext, additionalData)
    if (algorithm === 'A256GCM') {
      if (iv.length !== ivBytes) throw this.#sessions.error('invalid_data', `an IV has ${ivBytes} bytes`)
      const parts = [iv, additionalData, ciphertext]
      const answer = await this.#sessions.request('decrypt', { key: reference, ...gcm }, parts)
      return this.#requireParts(answer.parts.slice(1), 1)[0]
    }
    const request = { key: reference, mechanism: encryptions[algorithm] }
    const answer = await this.#sessions.request('unseal', request, [ciphertext])
    const [packed] = this.#requireParts(answer.parts, 1)
    const plaintext = unpackWrapped(packed, additionalData)
    packed.fill(0)
    if (plaintext === undefined)
      throw this.#sessions.error('invalid_data', 'the data was encrypted with other additional data')
    return plaintext
  }

  /** Encrypts or decrypts in one call, with any mechanism. @returns with the IV that was used */
  async cipher(
    direction: 'encrypt' | 'decrypt',
    request: Requests['encrypt'],
    { iv, additionalData, data }: Readonly<Record<'iv' | 'additionalData' | 'data', Uint8Array>>,
  ): Promise<{ readonly iv: Buffer; readonly data: Buffer }> {
    this.#requireSize(data, additionalData, iv)
    const answer = await this.#sessions.request(direction, request, [iv, additionalData, data])
    const [used, made] = this.#requireParts(answer.parts, 2)
    return { iv: used, data: made }
  }

  /** Wraps data with AES key wrap; for this the data become a session object. */
  async wrapData(key: KeyReference, algorithm: 'A256KWP' | 'A256KW', data: Uint8Array): Promise<Buffer> {
    this.#requireSize(data)
    const answer = await this.#sessions.request('seal', { key, mechanism: encryptions[algorithm] }, [data])
    return this.#requireParts(answer.parts, 1)[0]
  }

  /** @throws TokenError `invalid_data` for a wrong key or changed data */
  async unwrapData(key: KeyReference, algorithm: 'A256KWP' | 'A256KW', wrapped: Uint8Array): Promise<Buffer> {
    this.#requireSize(wrapped)
    const request = { key, mechanism: encryptions[algorithm] }
    const answer = await this.#sessions.request('unseal', request, [wrapped])
    return this.#requireParts(answer.parts, 1)[0]
  }

  /** Computes a signature or MAC with any mechanism, in the encoding of the token. */
  async signInput(key: KeyReference, mechanism: SignMechanism, input: Uint8Array): Promise<Buffer> {
    this.#requireSize(input)
    const answer = await this.#sessions.request('sign', { key, ...mechanism }, [input])
    return this.#requireParts(answer.parts, 1)[0]
  }

  /** All keys of a class. @throws TokenError also when they change while they are listed */
  async listKeys(kind: KeyReference['class']): Promise<readonly KeyAttributes[]> {
    const keys: KeyAttributes[] = []
    for (;;) {
      const { result } = await this.#sessions.request('list', { class: kind, from: keys.length })
      const page = result as { readonly total: number; readonly keys: readonly KeyAttributes[] }
      keys.push(...page.keys)
      if (page.keys.length === 0 || keys.length >= Math.min(page.total, maxKeys)) return keys
    }
  }

  /** Wraps a secret key of the token that is extractable. */
  async wrap(key: KeyName, target: KeyName, algorithm: 'A256KWP' | 'A256KW' = 'A256KWP'): Promise<Buffer> {
    const [wrapping, wrapped] = [key, target].map((name): KeyReference => ({ class: 'secret', ...name }))
    const request = { key: wrapping as KeyReference, target: wrapped as KeyReference }
    const answer = await this.#sessions.request('wrap', { ...request, mechanism: encryptions[algorithm] })
    return this.#requireParts(answer.parts, 1)[0]
  }

  /** Makes a wrapped AES key a key of the token, which never leaves it again. */
  async unwrap(
    key: KeyName,
    wrapped: Uint8Array,
    label: string,
    algorithm: 'A256KWP' | 'A256KW' = 'A256KWP',
  ): Promise<KeyAttributes> {
    this.#requireSize(wrapped)
    const request = { key: { class: 'secret', ...key }, mechanism: encryptions[algorithm] } as const
    const answer = await this.#sessions.request('unwrap', { ...request, label, id: newId() }, [wrapped])
    return answer.result as KeyAttributes
  }

  /** @returns the signature in the format of JOSE: for ECDSA both numbers in their full length (RFC 7518 §3.4) */
  async sign(key: KeyName, algorithm: SignatureAlgorithm, data: Uint8Array): Promise<Buffer> {
    const { mechanism, input, signatureBytes } = toSignature(algorithm, data)
    this.#requireSize(input)
    const request = { key: { class: 'private', ...key }, ...mechanism } as const
    const answer = await this.#sessions.request('sign', request, [input])
    const [signature] = this.#requireParts(answer.parts, 1)
    if (signatureBytes !== undefined && signature.length !== signatureBytes)
      throw this.#sessions.error('not_supported', `the key is on another curve than that of ${algorithm}`)
    return signature
  }

  /** Verifies a signature in the token. */
  async verify(
    key: KeyName,
    algorithm: SignatureAlgorithm,
    data: Uint8Array,
    signature: Uint8Array,
  ): Promise<boolean> {
    const { mechanism, input } = toSignature(algorithm, data)
    this.#requireSize(input, signature)
    const request = { key: { class: 'public', ...key }, ...mechanism } as const
    const answer = await this.#sessions.request('verify', request, [input, signature])
    return answer.result === true
  }

  /** Bytes of the token's generator. */
  async random(bytes: number): Promise<Buffer> {
    if (!Number.isInteger(bytes) || bytes < 1 || bytes > maxRandomBytes)
      throw new RangeError(`1 to ${maxRandomBytes} random bytes, not ${bytes}`)
    const answer = await this.#sessions.request('random', { bytes })
    return this.#requireParts(answer.parts, 1)[0]
  }

  async destroy(kind: KeyReference['class'], key: KeyName): Promise<void> {
    await this.#sessions.request('destroy', { key: { class: kind, ...key } })
  }

  async attributes(kind: KeyReference['class'], key: KeyName): Promise<KeyAttributes> {
    const answer = await this.#sessions.request('attributes', { key: { class: kind, ...key } })
    return answer.result as KeyAttributes
  }

  /** CKA_IDs (hexadecimal, ascending) of the keys with a label: several machines may have created it at the same time. */
  async ids(kind: KeyReference['class'], label: string): Promise<readonly string[]> {
    const answer = await this.#sessions.request('ids', { kind, label })
    return answer.result as readonly string[]
  }

  /** The public key of a pair, as JWK. @param kind a token has the public numbers of RSA also in the private key */
  async publicKey(key: KeyName, kind: 'public' | 'private' = 'public'): Promise<webcrypto.JsonWebKey> {
    const answer = await this.#sessions.request('publicKey', { key: { class: kind, ...key } })
    const jwk = toJwk(answer.result as PublicMaterial)
    if (jwk === undefined)
      throw this.#sessions.error('not_supported', 'the public key is of another kind, or not revealed')
    return jwk
  }

  /** Opens the token, unless it is open. @throws TokenError */
  async connect(): Promise<void> {
    await this.#sessions.connect()
  }

  /** Finishes requests that are under way, closes the sessions and ends the library. */
  async close(): Promise<void> {
    await this.#sessions.close()
  }

  #requireSize(...data: readonly Uint8Array[]): void {
    const bytes = data.reduce((sum, { length }) => sum + length, 0)
    if (bytes > maxDataBytes - 1024)
      throw this.#sessions.error(
        'invalid_data',
        `the data of a request has at most ${maxDataBytes - 1024} bytes`,
      )
  }

  /** @throws TokenError when the process answered with another number of parts */
  #requireParts(parts: readonly Buffer[], count: 1): readonly [Buffer]
  #requireParts(parts: readonly Buffer[], count: 2): readonly [Buffer, Buffer]
  #requireParts(parts: readonly Buffer[], count: number): readonly Buffer[] {
    if (parts.length === count) return parts
    const error: TokenError = this.#sessions.error(
      'library_failed',
      'the library returned another number of values',
    )
    throw error
  }
}

function newId(): string {
  return randomBytes(16).toString('hex')
}

function toPair(type: { readonly rsaBits: number } | { readonly curve: CurveName }): NewKeyPair {
  if ('rsaBits' in type) return { type: 'RSA', bits: type.rsaBits }
  return { type: type.curve === 'Ed25519' ? 'OKP' : 'EC', params: curves[type.curve].params }
}

/** Digest of the additional data, length and data, zeros up to a multiple of 8 bytes (key wrap without padding needs that). */
function packForWrap(data: Uint8Array, additionalData: Uint8Array): Buffer {
  const packed = Buffer.alloc((32 + 4 + data.length + 7) & ~7)
  createHash('sha256').update(additionalData).digest().copy(packed)
  packed.writeUInt32BE(data.length, 32)
  packed.set(data, 36)
  return packed
}

/** @returns undefined when the additional data is another, or the form is wrong */
function unpackWrapped(packed: Buffer, additionalData: Uint8Array): Buffer | undefined {
  const digest = createHash('sha256').update(additionalData).digest()
  if (packed.length < 36 || !digest.equals(packed.subarray(0, 32))) return undefined
  const end = 36 + packed.readUInt32BE(32)
  return packed.length === ((end + 7) & ~7) ? Buffer.from(packed.subarray(36, end)) : undefined
}

interface Signature {
  readonly mechanism: SignMechanism
  readonly input: Uint8Array
  readonly signatureBytes?: number
}

function toSignature(algorithm: SignatureAlgorithm, data: Uint8Array): Signature {
  if (algorithm === 'EdDSA') return { mechanism: { mechanism: mechanisms.CKM_EDDSA }, input: data }
  const bits = Number(algorithm.slice(2)) as keyof typeof hashes
  const digest = createHash(hashes[bits]).update(data).digest()
  switch (algorithm.slice(0, 2)) {
    case 'RS': {
      const input = Buffer.concat([Buffer.from(digestInfo[bits], 'hex'), digest])
      return { mechanism: { mechanism: mechanisms.CKM_RSA_PKCS }, input }
    }
    case 'PS': {
      const [hash, mgf] = [mechanisms[`CKM_SHA${bits}`], maskGenerationFunctions[`CKG_MGF1_SHA${bits}`]]
      const pss = [hash, mgf, bits / 8] as const
      return { mechanism: { mechanism: mechanisms.CKM_RSA_PKCS_PSS, pss }, input: digest }
    }
    default:
      return {
        mechanism: { mechanism: mechanisms.CKM_ECDSA },
        ...{ input: digest, signatureBytes: ecdsaBytes[bits] },
      }
  }
}

function toJwk({
  keyType,
  modulus,
  exponent,
  params,
  point,
}: PublicMaterial): webcrypto.JsonWebKey | undefined {
  const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')
  if (keyType === keyTypes.RSA && modulus !== undefined && exponent !== undefined)
    return { kty: 'RSA', n: base64url(modulus), e: base64url(exponent) }
  const names = Object.keys(curves) as CurveName[]
  const curve = names.find((name) => curves[name].params === params)
  if (curve === undefined || point === undefined) return undefined
  const { coordinateBytes } = curves[curve]
  // DER of an OCTET STRING (Current Mechanisms 2.40 §2.3.3); some tokens have the bare point.
  const size = 2 * (curve === 'Ed25519' ? coordinateBytes : 1 + 2 * coordinateBytes)
  const header = point.slice(0, -size)
  if (header !== '' && !header.startsWith('04')) return undefined
  const bare = point.slice(-size)
  if (curve === 'Ed25519') return { kty: 'OKP', crv: curve, x: base64url(bare) }
  if (bare.length !== size || !bare.startsWith('04')) return undefined
  const middle = 2 + 2 * coordinateBytes
  return { kty: 'EC', crv: curve, x: base64url(bare.slice(2, middle)), y: base64url(bare.slice(middle)) }
}
