import { CodedError } from '@warder/base'

/**
 * Messages between this process and the one that has loaded the library. One frame is: length of the rest (4 bytes), number
 * of the request (4), length of the header (4), header in JSON, then parts of bytes, each after its length (4); big-endian.
 */

/** A frame that announces more is malformed. */
const maxFrameBytes = 256 * 1024
/** Data of a request. */
export const maxDataBytes = 64 * 1024

export const tokenErrorCodes = [
  /** The library cannot be loaded, or cannot be used on this system. */
  'library_unusable',
  /** The library crashed, did not respond, or returned invalid values; its process is started again for the next request. */
  'library_failed',
  'token_not_found',
  /** The token is gone for now, or reports a failure of its own. */
  'token_unavailable',
  /** The PIN is wrong, or the login is refused without trying it. */
  'login_refused',
  'key_not_found',
  'key_ambiguous',
  'key_exists',
  /** The token has not the mechanism, or the key does not permit the use. */
  'not_supported',
  /** A ciphertext, a wrapped key or other data that the token rejects. */
  'invalid_data',
  'overloaded',
  'closed',
  /** Any other return value; the sentence names it. */
  'token_error',
] as const
export type TokenErrorCode = (typeof tokenErrorCodes)[number]

/** The message names the token if it is known, and the function and return value of the library if there is one. */
export class TokenError extends CodedError<TokenErrorCode> {
  /** The message without the token. */
  readonly sentence: string
  /** Return value of the library. */
  readonly returnValue: number | undefined

  constructor(
    code: TokenErrorCode,
    sentence: string,
    { token, returnValue }: { readonly token?: string; readonly returnValue?: number } = {},
  ) {
    super(code, token === undefined ? sentence : `${token}: ${sentence}`)
    this.name = 'TokenError'
    this.sentence = sentence
    this.returnValue = returnValue
  }
}

/** Which key: of this class, with this label or this CKA_ID, or both. */
export interface KeyReference {
  readonly class: 'secret' | 'private' | 'public'
  readonly label?: string
  /** Hexadecimal. */
  readonly id?: string
}

export type NewKeyPair =
  | { readonly type: 'RSA'; readonly bits: number }
  | { readonly type: 'EC' | 'OKP'; readonly params: string }

/** Parameters of a mechanism; those of AES-GCM are parts of the frame. */
export interface SignMechanism {
  readonly mechanism: number
  /** RSA-PSS: numbers of the hash and of the mask generation function, and the length of the salt. */
  readonly pss?: readonly [hash: number, mgf: number, saltBytes: number]
}

/** How data is encrypted: AES-GCM, a mechanism whose parameter is the IV or a counter block, or one without parameters. */
export interface CipherMechanism {
  readonly mechanism: number
  readonly parameters: 'gcm' | 'iv' | 'counter' | 'none'
  /** Of AES-GCM. */
  readonly tagBits?: number
}

/** Permitted uses of a new key (CKA_ENCRYPT …); all others are forbidden. */
export const keyUses = ['encrypt', 'decrypt', 'wrap', 'unwrap', 'sign', 'verify'] as const
export type KeyUse = (typeof keyUses)[number]

/** Requests by their operation; `parts` are named beside. */
export interface Requests {
  /** pin */
  open: { readonly slot?: number; readonly label?: string }
  generateKey: {
    readonly label: string
    readonly id: string
    readonly type: 'AES' | 'generic'
    readonly bytes: number
    readonly uses: readonly KeyUse[]
  }
  generateKeyPair: {
    readonly label: string
    readonly id: string
    readonly pair: NewKeyPair
    /** Uses of the private key; the public key has the opposite uses. */
    readonly uses: readonly ('sign' | 'decrypt')[]
  }
  /** iv, additional data, plaintext */
  encrypt: { readonly key: KeyReference } & CipherMechanism
  /** iv, additional data, ciphertext, of AES-GCM with its tag */
  decrypt: { readonly key: KeyReference } & CipherMechanism
  /** data, which becomes a session object that is wrapped */
  seal: { readonly key: KeyReference; readonly mechanism: number }
  /** wrapped data */
  unseal: { readonly key: KeyReference; readonly mechanism: number }
  wrap: { readonly key: KeyReference; readonly target: KeyReference; readonly mechanism: number }
  /** wrapped key */
  unwrap: {
    readonly key: KeyReference
    readonly mechanism: number
    readonly label: string
    readonly id: string
  }
  /** data */
  sign: { readonly key: KeyReference } & SignMechanism
  /** data, signature */
  verify: { readonly key: KeyReference } & SignMechanism
  random: { readonly bytes: number }
  destroy: { readonly key: KeyReference }
  attributes: { readonly key: KeyReference }
  /** CKA_IDs of all keys of the class with this label */
  ids: { readonly kind: KeyReference['class']; readonly label: string }
  publicKey: { readonly key: KeyReference }
  /** Keys of a class from a position in the token's order, at most `maxListed`. */
  list: { readonly class: KeyReference['class']; readonly from: number }
}

/** Maximum number of keys in one reply of `list`, and in all replies for a class. */
export const [maxListed, maxKeys] = [100, 100_000]

export type Operation = keyof Requests
export type Request = { [Op in Operation]: { readonly op: Op } & Requests[Op] }[Operation]

export interface TokenInfo {
  readonly label: string
  readonly manufacturer: string
  readonly model: string
  readonly serial: string
  /** CK_SLOT_ID. */
  readonly slot: number
  /** Numbers of the mechanisms (CKM_…). */
  readonly mechanisms: readonly number[]
}

/** Attributes of the requested key; undefined if the token does not report them. */
export interface KeyAttributes {
  readonly label: string | undefined
  readonly id: string | undefined
  /** CKK_… */
  readonly keyType: number | undefined
  /** Bytes of a secret key. */
  readonly valueBytes: number | undefined
  readonly token: boolean | undefined
  readonly private: boolean | undefined
  readonly sensitive: boolean | undefined
  readonly alwaysSensitive: boolean | undefined
  readonly extractable: boolean | undefined
  readonly neverExtractable: boolean | undefined
  readonly local: boolean | undefined
  readonly encrypt: boolean | undefined
  readonly decrypt: boolean | undefined
  readonly wrap: boolean | undefined
  readonly unwrap: boolean | undefined
  readonly sign: boolean | undefined
  readonly verify: boolean | undefined
}

/** Public attributes in the form of the token. Hexadecimal. */
export interface PublicMaterial {
  readonly keyType: number | undefined
  readonly modulus: string | undefined
  readonly exponent: string | undefined
  readonly params: string | undefined
  readonly point: string | undefined
}

/** `result` has the type of the operation; an error has a return value of the library, or a sentence, or both. */
export type Reply =
  | { readonly result: unknown }
  | { readonly code: TokenErrorCode; readonly sentence: string }
  | { readonly returnValue: number; readonly functionName: string }

export interface Frame {
  readonly id: number
  readonly header: unknown
  readonly parts: readonly Buffer[]
}

/** @throws RangeError for more than a frame may have */
export function encodeFrame(id: number, header: Request | Reply, parts: readonly Uint8Array[] = []): Buffer {
  const json = Buffer.from(JSON.stringify(header))
  const length = 8 + json.length + parts.reduce((sum, part) => sum + 4 + part.length, 0)
  if (length > maxFrameBytes) throw new RangeError(`a frame of ${length} bytes`)
  const frame = Buffer.alloc(4 + length)
  frame.writeUInt32BE(length, 0)
  frame.writeUInt32BE(id, 4)
  frame.writeUInt32BE(json.length, 8)
  json.copy(frame, 12)
  let at = 12 + json.length
  for (const part of parts) {
    frame.writeUInt32BE(part.length, at)
    frame.set(part, at + 4)
    at += 4 + part.length
  }
  return frame
}

/** Cuts a stream of bytes into frames, which may be malformed: a library can corrupt the memory of its process. */
export class FrameReader {
  #pending: Buffer = Buffer.alloc(0)

  /** @throws Error for a malformed frame; the stream is unusable then */
  push(chunk: Buffer): readonly Frame[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const frames: Frame[] = []
    while (this.#pending.length >= 4) {
      const length = this.#pending.readUInt32BE(0)
      if (length > maxFrameBytes) throw new Error(`a frame of ${length} bytes`)
      if (this.#pending.length < 4 + length) break
      frames.push(decodeFrame(this.#pending.subarray(4, 4 + length)))
      this.#pending = this.#pending.subarray(4 + length)
    }
    // A chunk belongs to the reader of the socket, which uses it again.
    this.#pending = Buffer.from(this.#pending)
    return frames
  }
}

function decodeFrame(frame: Buffer): Frame {
  const headerEnd = frame.length < 8 ? Number.POSITIVE_INFINITY : 8 + frame.readUInt32BE(4)
  if (headerEnd > frame.length) throw new Error('a frame that is shorter than its header')
  const parts: Buffer[] = []
  for (let at = headerEnd; at < frame.length; ) {
    const end = at + 4 <= frame.length ? at + 4 + frame.readUInt32BE(at) : Number.POSITIVE_INFINITY
    if (end > frame.length) throw new Error('a frame that is shorter than its parts')
    parts.push(Buffer.from(frame.subarray(at + 4, end)))
    at = end
  }
  const header: unknown = JSON.parse(frame.toString('utf8', 8, headerEnd))
  return { id: frame.readUInt32BE(0), header, parts }
}
