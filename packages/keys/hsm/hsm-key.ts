import { createPublicKey, type KeyObject } from 'node:crypto'
import { failure } from '@warder/base'
import {
  type BackendKey,
  type CipherPlan,
  createRejection,
  decryptionFailed,
  decryptRsa,
  digest,
  digestInfo,
  type Encrypted,
  finishDecryption,
  type KeyShape,
  type MacPlan,
  oaepUnwrapCek,
  prepareDecryption,
  prepareEncryption,
  type RsaPrivateKey,
  refuse,
  type SignaturePlan,
  type ToSign,
  toDerSignature,
} from '@warder/crypto'
import {
  type CipherMechanism,
  type KeyReference,
  maskGenerationFunctions,
  mechanisms,
  type SignMechanism,
  TokenError,
} from '@warder/pkcs11'
import { createHsms, type Hsm, type Hsms, onHsm, toHsmFailure } from './hsms.ts'

/**
 * Form of the material of a key in an HSM, which is a reference to it. The owner of the object cannot change it.
 */
export interface HsmForm {
  /** Name of the HSM in the settings. */
  readonly name: string
  /** CKA_LABEL. */
  readonly label: string
  /** CKA_ID, hexadecimal; empty if the key has none. */
  readonly id: string
  /**
   * The HSM reported, when the key was created or registered, that the key was generated there, has always been sensitive
   * and has never been extractable (CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE), which no later change undoes.
   */
  readonly hardware: boolean
}

/** The material of an object whose key is in an HSM, as JSON. Sealed like a key, so that rows cannot be swapped. */
export interface HsmReference extends Omit<HsmForm, 'hardware'> {
  readonly class: 'secret' | 'private'
  /** Of a secret key. */
  readonly bits?: number
  /** SubjectPublicKeyInfo of a private key, base64url. */
  readonly spki?: string
  /** Of an RSA key: secret bytes for ciphertexts that are rejected (RFC 7516 §11.5), base64url. */
  readonly rejection?: string
}

export function encodeReference(reference: HsmReference): Buffer {
  return Buffer.from(JSON.stringify(reference))
}

/**
 * The reference in the material of an object, which must be the one that its row names.
 * @throws failure('internal_error')
 */
export function decodeReference(form: HsmForm, material: Uint8Array): HsmReference {
  const wrong = () => failure('internal_error', 'the reference of a key in an HSM does not fit its row')
  let reference: HsmReference
  try {
    reference = JSON.parse(Buffer.from(material).toString('utf8')) as HsmReference
  } catch {
    throw wrong()
  }
  if ((['name', 'label', 'id'] as const).some((member) => reference[member] !== form[member])) throw wrong()
  return reference
}

/** Maximum size of the data of one operation, in bytes, which are sent to the token in one request. */
const maxHsmBytes = 60 * 1024

/**
 * Opens a key by its reference; the HSM is not contacted.
 * @param hsms the HSMs of the settings: a key of another one can be read and removed, but not used
 */
export function openHsmKey(reference: HsmReference, hsms: Hsms = createHsms([])): BackendKey {
  return new HsmKey(reference, hsms)
}

/** A key in an HSM. Each operation is one request to its token; this process has no part of the key. */
class HsmKey implements BackendKey {
  readonly local = undefined
  readonly parts = undefined
  readonly shape: KeyShape
  readonly publicKey: KeyObject | undefined
  readonly #hsms: Hsms
  readonly #reference: HsmReference
  readonly #key: KeyReference
  #rsa: RsaPrivateKey | undefined

  constructor(reference: HsmReference, hsms: Hsms) {
    const { class: kind, label, id, bits, spki } = reference
    this.#hsms = hsms
    this.#reference = reference
    this.#key = { class: kind, label, ...(id !== '' && { id }) }
    this.publicKey =
      spki === undefined
        ? undefined
        : createPublicKey({ key: Buffer.from(spki, 'base64url'), format: 'der', type: 'spki' })
    const { asymmetricKeyType, asymmetricKeyDetails } = this.publicKey ?? {}
    this.shape = {
      type: kind,
      ...(bits !== undefined && { symmetricKeySize: bits / 8 }),
      ...(asymmetricKeyType !== undefined && { asymmetricKeyType }),
      ...(asymmetricKeyDetails !== undefined && { asymmetricKeyDetails }),
    } as KeyShape
  }

  encrypt: BackendKey['encrypt'] = async (plan, input): Promise<Encrypted> => {
    requireSize(input.data, input.aad)
    const { iv, fresh, data } = prepareEncryption(plan, input)
    if (plan.mode === 'KW' || plan.mode === 'KWP') {
      const wrapped = await this.#on((token) => token.wrapData(this.#key, toWrap(plan), data))
      return { data: wrapped, iv: undefined, tag: undefined }
    }
    const request = { key: this.#key, ...toMechanism(plan) }
    const additionalData = input.aad ?? nothing
    const made = await this.#on((token) => token.cipher('encrypt', request, { iv, additionalData, data }))
    if (!made.iv.equals(iv))
      throw refuse('unsupported', 'The HSM does not encrypt with the IV of the request.')
    const end = made.data.length - plan.tag
    return {
      data: made.data.subarray(0, end),
      iv: fresh,
      tag: plan.tag === 0 ? undefined : made.data.subarray(end),
    }
  }

  decrypt: BackendKey['decrypt'] = async (plan, input): Promise<Buffer> => {
    requireSize(input.data, input.aad)
    const { iv, tag } = prepareDecryption(plan, input)
    try {
      if (plan.mode === 'KW' || plan.mode === 'KWP')
        return await this.#token.unwrapData(this.#key, toWrap(plan), input.data)
      const request = { key: this.#key, ...toMechanism(plan) }
      const data = tag.length === 0 ? input.data : Buffer.concat([input.data, tag])
      const additionalData = input.aad ?? nothing
      const made = await this.#token.cipher('decrypt', request, { iv, additionalData, data })
      return finishDecryption(plan, made.data)
    } catch (error) {
      if (error instanceof TokenError && error.code === 'invalid_data') throw decryptionFailed()
      throw toHsmFailure(this.#reference.name, error)
    }
  }

  decryptRsa: BackendKey['decryptRsa'] = async (plan, data) => decryptRsa(this.#openRsa(), plan, data)

  unwrapContentKey: BackendKey['unwrapContentKey'] = async (hash, wrapped, bytes) =>
    oaepUnwrapCek(hash, this.#openRsa(), wrapped, bytes)

  sign: BackendKey['sign'] = async (plan: SignaturePlan, what: ToSign): Promise<Buffer> => {
    const { mechanism, input } = toSignature(plan, what)
    requireSize(input)
    const signature = await this.#on((token) => token.signInput(this.#key, mechanism, input))
    return plan.scheme === 'ecdsa' && plan.raw !== true ? toDerSignature(signature) : signature
  }

  mac: BackendKey['mac'] = async (plan: MacPlan, data: Uint8Array): Promise<Buffer> => {
    requireSize(data)
    const mechanism = toMacMechanism(plan)
    return this.#on((token) => token.signInput(this.#key, { mechanism }, data))
  }

  decapsulate: BackendKey['decapsulate'] = async () => {
    throw notInHsm('Decapsulation')
  }

  openHmacKey: BackendKey['openHmacKey'] = async () => {
    throw notInHsm('An HMAC key beside a key of another type')
  }

  derive: BackendKey['derive'] = async () => {
    throw notInHsm('Key derivation')
  }

  agree: BackendKey['agree'] = async () => {
    throw notInHsm('Key agreement')
  }

  /** @throws failure('hsm_unavailable') when the settings do not have the HSM */
  get #token(): Hsm['token'] {
    return this.#hsms.require(this.#reference.name).token
  }

  async #on<Result>(work: (token: Hsm['token']) => Promise<Result>): Promise<Result> {
    return onHsm(this.#reference.name, () => work(this.#token))
  }

  #openRsa(): RsaPrivateKey {
    const { publicKey } = this
    const { rejection = '' } = this.#reference
    if (publicKey?.asymmetricKeyType !== 'rsa')
      throw refuse('wrong_key', 'Only RSA keys can decrypt with this algorithm.')
    this.#rsa ??= {
      rejection: createRejection(publicKey, Buffer.from(rejection, 'base64url')),
      open: (ciphertext) => this.#decryptRaw(ciphertext),
    }
    return this.#rsa
  }

  /** c^d mod n, without any padding of the token's, whose errors would reveal whether it was right (RFC 7516 §11.5). */
  async #decryptRaw(ciphertext: Uint8Array): Promise<Buffer> {
    const request = { key: this.#key, mechanism: mechanisms.CKM_RSA_X_509, parameters: 'none' } as const
    const input = { iv: nothing, additionalData: nothing, data: ciphertext }
    const { data } = await this.#on((token) => token.cipher('decrypt', request, input))
    const whole = Buffer.alloc(ciphertext.length)
    data.copy(whole, Math.max(0, whole.length - data.length))
    data.fill(0)
    return whole
  }
}

const nothing = Buffer.alloc(0)

function notInHsm(what: string) {
  return refuse('unsupported', `${what} is not supported for keys in an HSM.`)
}

/** @throws CryptoFailure invalid_input */
function requireSize(data: Uint8Array, aad: Uint8Array = nothing): void {
  if (data.length + aad.length > maxHsmBytes)
    throw refuse(
      'invalid_input',
      `A key in an HSM processes at most ${maxHsmBytes} bytes at once: use an algorithm that wraps a content key, such as A256KW or RSA-OAEP-256.`,
    )
}

function toWrap({ mode }: CipherPlan): 'A256KWP' | 'A256KW' {
  return mode === 'KWP' ? 'A256KWP' : 'A256KW'
}

/** @throws CryptoFailure unsupported */
function toMechanism({ mode, tag }: CipherPlan): CipherMechanism {
  switch (mode) {
    case 'GCM':
      return { mechanism: mechanisms.CKM_AES_GCM, parameters: 'gcm', tagBits: tag * 8 }
    case 'CBC':
      return { mechanism: mechanisms.CKM_AES_CBC, parameters: 'iv' }
    case 'ECB':
      return { mechanism: mechanisms.CKM_AES_ECB, parameters: 'none' }
    case 'CTR':
      return { mechanism: mechanisms.CKM_AES_CTR, parameters: 'counter' }
    default:
      throw refuse('unsupported', `The mode ${mode} is not supported for keys in an HSM.`)
  }
}

const hashMechanisms: Readonly<Record<string, readonly [hash: number, mgf: number, hmac: number]>> = {
  SHA_1: [mechanisms.CKM_SHA_1, maskGenerationFunctions.CKG_MGF1_SHA1, mechanisms.CKM_SHA_1_HMAC],
  SHA_224: [mechanisms.CKM_SHA224, maskGenerationFunctions.CKG_MGF1_SHA224, mechanisms.CKM_SHA224_HMAC],
  SHA_256: [mechanisms.CKM_SHA256, maskGenerationFunctions.CKG_MGF1_SHA256, mechanisms.CKM_SHA256_HMAC],
  SHA_384: [mechanisms.CKM_SHA384, maskGenerationFunctions.CKG_MGF1_SHA384, mechanisms.CKM_SHA384_HMAC],
  SHA_512: [mechanisms.CKM_SHA512, maskGenerationFunctions.CKG_MGF1_SHA512, mechanisms.CKM_SHA512_HMAC],
}

/** @throws CryptoFailure unsupported */
function findHash(name: string): readonly [hash: number, mgf: number, hmac: number] {
  const found = hashMechanisms[name]
  if (found === undefined) throw refuse('unsupported', `${name} is not supported for keys in an HSM.`)
  return found
}

function toMacMechanism(plan: MacPlan): number {
  return plan.kind === 'hmac' ? findHash(plan.hash.name)[2] : mechanisms.CKM_AES_CMAC
}

/** The mechanism of a signature, and its input: a digest, or the data if the mechanism computes the digest. */
function toSignature(
  plan: SignaturePlan,
  what: ToSign,
): { readonly mechanism: SignMechanism; readonly input: Uint8Array } {
  if (plan.scheme === 'pure') {
    if ('digest' in what) throw notInHsm('A signature of a digest')
    return { mechanism: { mechanism: mechanisms.CKM_EDDSA }, input: what.data }
  }
  const digested = 'digest' in what ? what.digest : digest(plan.hash, what.data)
  switch (plan.scheme) {
    case 'pkcs1':
      return { mechanism: { mechanism: mechanisms.CKM_RSA_PKCS }, input: digestInfo(plan.hash, digested) }
    case 'pss': {
      const [hash] = findHash(plan.hash.name)
      const [, mgf] = findHash(plan.maskHash.name)
      const pss = [hash, mgf, plan.saltLength ?? plan.hash.bytes] as const
      return { mechanism: { mechanism: mechanisms.CKM_RSA_PKCS_PSS, pss }, input: digested }
    }
    case 'ecdsa':
      return { mechanism: { mechanism: mechanisms.CKM_ECDSA }, input: digested }
    default:
      throw refuse('unsupported', 'DSA is not supported for keys in an HSM.')
  }
}
