import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { algorithmFor, contentPlan, encryptRsa, oaepPlan } from '@warder/crypto'
import { afterCountingUse, type Key, requireKeyUse } from '@warder/keys'
import { methods, type Operation } from '@warder/server'
import Type from 'typebox'
import { batchable, each, PartialFailureCode } from './batch.ts'
import { rsaAlg } from './key-type.ts'
import {
  type Context,
  commonByUse,
  NamePath,
  newestToProtect,
  requireNotDerived,
  transitRight,
  type Version,
  versionAt,
  writing,
} from './row.ts'
import { define, type TransitServices } from './services.ts'
import { answer, decodeBase64, readVersioned, VersionNumber, withVersion } from './text.ts'

const ivBytes = 12
const tagBytes = 16

/**
 * `vault:vN:` and the output of the version: for AES the IV, the ciphertext and the tag.
 * @throws failure('crypto_failure'); failure('unsupported_algorithm')
 */
async function encryptWith(
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
    if (aad !== undefined) throw failure('bad_request', 'associated_data is only for AES keys')
    key.requireBoundTo(rsaAlg)
    const plan = oaepPlan(algorithmFor('key management', rsaAlg, services.policy))
    return encryptRsa(key.publicMaterial.key, plan, plaintext)
  }
  const plan = aesPlan(key, services.policy)
  await services.budgets.take(object)
  const { iv, data, tag } = await described.held.encrypt(plan, { data: plaintext, iv: undefined, aad })
  return Buffer.concat([iv as Buffer, data, tag as Buffer])
}

/**
 * Decrypts a ciphertext of a version. @throws failure('decryption_failed') for ciphertexts that cannot be
 * decrypted
 */
async function decryptWith(
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
    key.requireBoundTo(rsaAlg)
    return described.held.decryptRsa(oaepPlan(algorithmFor('key management', rsaAlg, policy)), bytes)
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
  if (algorithm !== 'AES') throw failure('bad_request', 'keys of this type cannot encrypt')
  const name = `A${bits}GCM`
  key.requireBoundTo(name)
  return contentPlan(algorithmFor('content encryption', name, policy))
}

const Text = Type.Optional(Type.String())
/** Vault answers 400 if some items of a batch failed, or the status that the client requests for this case. */
const readPartialStatus = (body: { readonly partial_failure_response_code?: number }): number =>
  body.partial_failure_response_code ?? 400

const about = { associated_data: Text, context: Text, nonce: Text, reference: Text }
interface About {
  readonly associated_data?: string
  readonly context?: string
  readonly nonce?: string
}

/** @throws failure('bad_request') for parameters of derived keys and convergent encryption */
function readAad(item: About): Buffer | undefined {
  requireNotDerived(item)
  const { associated_data: aad } = item
  return aad === undefined || aad === '' ? undefined : decodeBase64(aad, 'associated_data')
}

/** Encrypts under the newest version, or the one of this number. */
async function encryptItem(
  context: Context,
  key: Key,
  plaintext: Buffer,
  item: About,
  number?: number | string,
) {
  const aad = readAad(item)
  const version = await newestToProtect(context, key, number)
  const ciphertext = await encryptWith(version, plaintext, aad, context)
  return { ciphertext, key_version: version.number }
}

const encryptAccess = transitRight('encrypt')
const encrypt = define({
  ...commonByUse,
  name: 'transit.encrypt',
  reach: ['make ciphertext'],
  route: methods(writing, '/v1/transit/encrypt/{name}'),
  summary: 'Encrypt with a key, in the forms of Vault’s transit engine',
  access: encryptAccess,
  pathParameters: NamePath,
  request: Type.Object({
    ...batchable({ plaintext: Text, key_version: VersionNumber, ...about }).properties,
    ...PartialFailureCode,
  }),
  act({ body }, whole) {
    const { key } = encryptAccess.resolved(whole)
    return each(body, whole, {
      name: 'transit.encrypt',
      key,
      partialStatus: readPartialStatus(body),
      async act(item, context) {
        if (item.plaintext === undefined) throw failure('bad_request', 'missing plaintext to encrypt')
        return encryptItem(context, key, decodeBase64(item.plaintext, 'plaintext'), item, item.key_version)
      },
    })
  },
})

async function decryptItem(
  context: Context,
  key: Key,
  ciphertext: string | undefined,
  item: About,
): Promise<Buffer> {
  if (ciphertext === undefined) throw failure('bad_request', 'missing ciphertext to decrypt')
  const { version, text } = readVersioned(ciphertext, 'ciphertext')
  const aad = readAad(item)
  return decryptWith(await versionAt(context, key, version), text, aad, context)
}

const decryptAccess = transitRight('decrypt')
const decrypt = define({
  ...commonByUse,
  name: 'transit.decrypt',
  reach: ['reveal plaintext'],
  route: methods(writing, '/v1/transit/decrypt/{name}'),
  summary: 'Decrypt `vault:vN:…` with version N of a key',
  access: decryptAccess,
  pathParameters: NamePath,
  request: Type.Object({ ...batchable({ ciphertext: Text, ...about }).properties, ...PartialFailureCode }),
  foreignMembers: {
    names: ['name', 'key_version'],
    because:
      'Vault clients repeat the name of the key and send the reply of `encrypt` as it is; the path names the key, the ciphertext its version.',
  },
  act({ body }, whole) {
    const { key } = decryptAccess.resolved(whole)
    return each(body, whole, {
      name: 'transit.decrypt',
      key,
      partialStatus: readPartialStatus(body),
      async act(item, context) {
        const bytes = await decryptItem(context, key, item.ciphertext, item)
        const plaintext = bytes.toString('base64')
        bytes.fill(0)
        return { plaintext }
      },
    })
  },
})

/** The right to encrypt suffices to rewrap a ciphertext with the newest version: no plaintext is returned. */
const rewrapAccess = transitRight('encrypt')
const rewrap = define({
  ...commonByUse,
  name: 'transit.rewrap',
  reach: ['make ciphertext'],
  asks: ['decrypt'],
  route: methods(writing, '/v1/transit/rewrap/{name}'),
  summary: 'Re-encrypt data of an older version with the newest one',
  access: rewrapAccess,
  pathParameters: NamePath,
  request: Type.Object({
    ...batchable({ ciphertext: Text, key_version: VersionNumber, ...about }).properties,
    ...PartialFailureCode,
  }),
  act({ body }, whole) {
    const { key } = rewrapAccess.resolved(whole)
    return each(body, whole, {
      name: 'transit.rewrap',
      key,
      partialStatus: readPartialStatus(body),
      async act(item, context) {
        const plaintext = await decryptItem(context, key, item.ciphertext, item)
        try {
          return await encryptItem(context, key, plaintext, item, item.key_version)
        } finally {
          plaintext.fill(0)
        }
      },
    })
  },
})

const dataKeyBits = [128, 256, 512]
const dataKeyAccess = transitRight('encrypt')
const dataKey = define({
  ...commonByUse,
  name: 'transit.datakey',
  reach: ['make ciphertext'],
  route: methods(writing, '/v1/transit/datakey/{form}/{name}'),
  summary: 'Create a data key: `plaintext` and wrapped, or only `wrapped`',
  access: dataKeyAccess,
  pathParameters: Type.Object({ form: Type.String(), name: Type.String() }),
  bodyOptional: true,
  request: Type.Object({ bits: Type.Optional(Type.Integer()), ...about }),
  async act({ body, path: { form } }, context) {
    if (form !== 'plaintext' && form !== 'wrapped')
      throw failure('bad_request', 'Invalid path, must be "plaintext" or "wrapped"')
    const { bits = 256, ...rest } = body ?? {}
    if (!dataKeyBits.includes(bits)) throw failure('bad_request', 'invalid bit length: 128, 256 or 512')
    const { key } = dataKeyAccess.resolved(context)
    const fresh = randomBytes(bits / 8)
    try {
      const wrapped = await encryptItem(context, key, fresh, rest)
      return answer(form === 'wrapped' ? wrapped : { ...wrapped, plaintext: fresh.toString('base64') })
    } finally {
      fresh.fill(0)
    }
  },
})

export const encryptionRows: readonly Operation<TransitServices>[] = [encrypt, decrypt, rewrap, dataKey]
