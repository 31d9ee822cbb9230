import { failure } from '@warder/base'
import type { Key } from '@warder/keys'
import {
  afterCountingUse,
  algorithmFor,
  contentPlan,
  encryptRsa,
  oaepPlan,
  requireKeyUse,
} from '@warder/keys'
import type { Context, Version } from './row.ts'
import { decodeBase64, withVersion } from './text.ts'

const ivBytes = 12
const tagBytes = 16

/** RSA-OAEP with SHA-256, as Vault encrypts with RSA keys. */
const rsaName = 'RSA-OAEP-256'

/**
 * `vault:vN:` and what the version encrypts: of AES the IV, the ciphertext and the tag.
 * @throws failure('crypto_failure'); failure('unsupported_algorithm')
 */
export async function encryptWith(
  { key, number }: Version,
  plaintext: Uint8Array,
  aad: Uint8Array | undefined,
  context: Context,
): Promise<string> {
  requireKeyUse(key, 'encrypt', context)
  const bytes = await encryptPlaintext(key, plaintext, aad, context)
  return await afterCountingUse(context, key, plaintext.length, withVersion(number, bytes.toString('base64')))
}

async function encryptPlaintext(
  key: Key,
  plaintext: Uint8Array,
  aad: Uint8Array | undefined,
  { services }: Context,
): Promise<Buffer> {
  const { described, object } = key
  if (described.algorithm === 'RSA') {
    if (aad !== undefined) throw failure('bad_request', 'associated_data is for AES keys')
    key.requireBoundTo(rsaName)
    const plan = oaepPlan(algorithmFor('key management', rsaName, services.policy))
    return encryptRsa(key.publicMaterial.key, plan, plaintext)
  }
  const plan = aesPlan(key, services.policy)
  await services.budgets.take(object)
  const { iv, data, tag } = await described.held.encrypt(plan, { data: plaintext, iv: undefined, aad })
  return Buffer.concat([iv as Buffer, data, tag as Buffer])
}

/** Decrypts what a version encrypted. @throws failure('decryption_failed') for whatever does not open */
export async function decryptWith(
  { key }: Version,
  text: string,
  aad: Uint8Array | undefined,
  context: Context,
): Promise<Buffer> {
  requireKeyUse(key, 'decrypt', context)
  const bytes = decodeBase64(text, 'ciphertext')
  const { described } = key
  const { policy } = context.services
  if (described.algorithm === 'RSA') {
    key.requireBoundTo(rsaName)
    return described.held.decryptRsa(oaepPlan(algorithmFor('key management', rsaName, policy)), bytes)
  }
  const plan = aesPlan(key, policy)
  if (bytes.length < ivBytes + tagBytes) throw failure('bad_request', 'invalid ciphertext: it is too short')
  const end = bytes.length - tagBytes
  return described.held.decrypt(plan, {
    iv: bytes.subarray(0, ivBytes),
    data: bytes.subarray(ivBytes, end),
    tag: bytes.subarray(end),
    aad,
  })
}

function aesPlan(key: Key, policy: Context['services']['policy']) {
  const { algorithm, bits } = key.described
  if (algorithm !== 'AES') throw failure('bad_request', 'keys of this type do not encrypt')
  const name = `A${bits}GCM`
  key.requireBoundTo(name)
  return contentPlan(algorithmFor('content encryption', name, policy))
}
