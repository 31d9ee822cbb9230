import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** An algorithm of a passkey, by its COSE number. */
export type CoseAlgorithm = -7 | -8 | -257

/** A passkey inside the authenticator. */
interface Resident {
  readonly id: Buffer
  readonly rpId: string
  readonly userHandle: Buffer
  readonly privateKey: KeyObject
  readonly algorithm: CoseAlgorithm
}

/** Deviations of the authenticator or its browser from the standard. */
interface Deviations {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly crossOrigin?: boolean
  /** false: without user verification. */
  readonly verified?: boolean
  readonly counter?: number
  readonly userHandle?: string
  /** Use this passkey instead of one that the options permit. */
  readonly credentialId?: string
  readonly tamper?: (authenticatorData: Buffer) => Buffer
}

interface AuthenticatorOptions {
  readonly origin: string
  readonly algorithm?: CoseAlgorithm
  /** 'self': packed self attestation; a certificate: packed with this chain. */
  readonly attestation?: 'none' | 'self' | { readonly chain: readonly Buffer[]; readonly key: KeyObject }
  readonly aaguid?: string
  /** Whether it counts signatures; synchronized passkeys do not. */
  readonly counts?: boolean
  readonly modulusBits?: number
}

export interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id: string }
  readonly user: { readonly id: string }
  readonly pubKeyCredParams: readonly { readonly alg: number }[]
}

export interface RequestOptions {
  readonly challenge: string
  readonly rpId: string
  readonly allowCredentials: readonly { readonly id: string }[]
}

const flags = { present: 1, verified: 4, eligible: 8, backedUp: 16, attested: 64 }

/**
 * An authenticator and its browser in software, the client side of WebAuthn Level 3: discoverable credentials, user
 * verification, signature counter, attestation. Keys are real.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions
  readonly #residents: Resident[] = []
  #counter = 0

  constructor(options: AuthenticatorOptions) {
    this.#options = options
  }

  /** `navigator.credentials.create()`. @returns RegistrationResponseJSON */
  create(options: CreationOptions, deviations: Deviations & { readonly id?: string } = {}) {
    const { algorithm = -7, aaguid = '00000000-0000-0000-0000-000000000000' } = this.#options
    const { publicKey, privateKey } = this.#newPair(algorithm)
    const id = deviations.id === undefined ? randomBytes(32) : Buffer.from(deviations.id, 'base64url')
    const rpId = deviations.rpId ?? options.rp.id
    this.#residents.push({
      ...{ id, rpId, privateKey, algorithm },
      userHandle: Buffer.from(options.user.id, 'base64url'),
    })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([
      Buffer.from(aaguid.replaceAll('-', ''), 'hex'),
      length,
      id,
      encodeCbor(toCoseKey(publicKey, algorithm)),
    ])
    const data = this.#authenticatorData(rpId, deviations, attested)
    const client = this.#clientData('webauthn.create', options.challenge, deviations)
    const object = new Map<string, unknown>([
      ['fmt', this.#format()],
      ['attStmt', this.#statement(data, client, privateKey, algorithm)],
      ['authData', data],
    ])
    return {
      ...this.#envelope(id),
      response: {
        clientDataJSON: client.toString('base64url'),
        attestationObject: encodeCbor(object).toString('base64url'),
        transports: ['internal'],
      },
    }
  }

  /** `navigator.credentials.get()`. @returns AuthenticationResponseJSON */
  get(options: RequestOptions, deviations: Deviations = {}) {
    const permitted = options.allowCredentials.map(({ id }) => id)
    const resident = this.#residents.find(({ id, rpId }) => {
      const text = id.toString('base64url')
      if (deviations.credentialId !== undefined) return text === deviations.credentialId
      return rpId === options.rpId && (permitted.length === 0 || permitted.includes(text))
    })
    if (resident === undefined) throw new Error('the authenticator has no passkey for these options')
    const plain = this.#authenticatorData(deviations.rpId ?? options.rpId, deviations)
    const data = deviations.tamper?.(plain) ?? plain
    const client = this.#clientData('webauthn.get', options.challenge, deviations)
    return {
      ...this.#envelope(resident.id),
      response: {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signOver(plain, client, resident.privateKey, resident.algorithm).toString('base64url'),
        userHandle: deviations.userHandle ?? resident.userHandle.toString('base64url'),
      },
    }
  }

  #newPair(algorithm: CoseAlgorithm): { publicKey: KeyObject; privateKey: KeyObject } {
    if (algorithm === -7) return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    if (algorithm === -8) return generateKeyPairSync('ed25519')
    return generateKeyPairSync('rsa', { modulusLength: this.#options.modulusBits ?? 2048 })
  }

  #authenticatorData(rpId: string, { verified, counter }: Deviations, attested?: Buffer): Buffer {
    const { counts = true } = this.#options
    if (counts) this.#counter++
    const data = Buffer.alloc(37)
    createHash('sha256').update(rpId).digest().copy(data)
    data[32] =
      flags.present |
      (verified === false ? 0 : flags.verified) |
      (counts ? 0 : flags.eligible | flags.backedUp) |
      (attested === undefined ? 0 : flags.attested)
    data.writeUInt32BE(counter ?? this.#counter, 33)
    return Buffer.concat([data, attested ?? Buffer.alloc(0)])
  }

  #clientData(type: string, challenge: string, given: Deviations): Buffer {
    const crossOrigin = given.crossOrigin ?? false
    const origin = given.origin ?? this.#options.origin
    const members = { type: given.type ?? type, challenge: given.challenge ?? challenge, origin, crossOrigin }
    return Buffer.from(JSON.stringify(members))
  }

  #format(): 'none' | 'packed' {
    return (this.#options.attestation ?? 'none') === 'none' ? 'none' : 'packed'
  }

  #statement(data: Buffer, client: Buffer, own: KeyObject, algorithm: CoseAlgorithm): Map<string, unknown> {
    const { attestation = 'none' } = this.#options
    if (attestation === 'none') return new Map()
    if (attestation === 'self')
      return new Map<string, unknown>([
        ['alg', algorithm],
        ['sig', signOver(data, client, own, algorithm)],
      ])
    return new Map<string, unknown>([
      ['alg', -7],
      ['sig', signOver(data, client, attestation.key, -7)],
      ['x5c', attestation.chain],
    ])
  }

  #envelope(id: Buffer) {
    const text = id.toString('base64url')
    const type = 'public-key' as const
    return { id: text, rawId: text, type, authenticatorAttachment: 'platform', clientExtensionResults: {} }
  }
}

/** WebAuthn Level 3 §6.3.3 step 11: over the authenticator data and the hash of the client data. */
function signOver(data: Buffer, client: Buffer, key: KeyObject, algorithm: CoseAlgorithm): Buffer {
  const input = Buffer.concat([data, createHash('sha256').update(client).digest()])
  return sign(algorithm === -8 ? null : 'sha256', input, key)
}

/** RFC 9052 §7, RFC 9053, RFC 8230. */
function toCoseKey(key: KeyObject, algorithm: CoseAlgorithm): Map<number, unknown> {
  const jwk = key.export({ format: 'jwk' })
  const bytes = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url')
  if (algorithm === -257)
    return new Map<number, unknown>([
      [1, 3],
      [3, algorithm],
      [-1, bytes(jwk.n)],
      [-2, bytes(jwk.e)],
    ])
  const common: [number, unknown][] = [
    [1, algorithm === -8 ? 1 : 2],
    [3, algorithm],
    [-1, algorithm === -8 ? 6 : 1],
    [-2, bytes(jwk.x)],
  ]
  return new Map<number, unknown>(algorithm === -8 ? common : [...common, [-3, bytes(jwk.y)]])
}

/** The types of CBOR (RFC 8949 §3.1) that authenticators use. */
function encodeCbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([cborHead(4, value.length), ...value.map(encodeCbor)])
  if (value instanceof Map)
    return Buffer.concat([
      cborHead(5, value.size),
      ...[...value].flatMap(([key, member]) => [encodeCbor(key), encodeCbor(member)]),
    ])
  throw new Error('this value has no encoding here')
}

function cborHead(major: number, length: number): Buffer {
  const type = major << 5
  if (length < 24) return Buffer.from([type | length])
  if (length < 256) return Buffer.from([type | 24, length])
  return Buffer.from([type | 25, length >> 8, length & 255])
}
