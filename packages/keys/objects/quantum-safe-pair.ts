import { generateQuantumSafe, quantumSafeBits } from '@warder/crypto'
import { digestAttribute } from '../attributes/certificate-attributes.ts'
import { type AlgorithmName, toStoredKeyKind } from '../attributes/key-names.ts'
import {
  createGenerationAttributes,
  ObjectAttributes,
  toStoredValue,
} from '../attributes/object-attributes.ts'
import { type NewObject, newObjectDefaults } from './managed-object.ts'
import { newObjectId } from './object-id.ts'

/** A pair of SLH-DSA or ML-KEM, which JOSE has no keys for. */
export interface QuantumSafePairRequest {
  /** `SLH-DSA-SHA2-128s` (RFC 9909), `ML-KEM-768` (RFC 9935). */
  readonly alg: string
  readonly owner: string
  /** Unix milliseconds. */
  readonly now: number
  /** CryptographicUsageMask of the halves. */
  readonly privateMask: number
  readonly publicMask: number
}

/** Makes such a pair, the private half first. The caller wipes the bytes. */
export async function newQuantumSafePair({
  alg,
  owner,
  now,
  privateMask,
  publicMask,
}: QuantumSafePairRequest): Promise<readonly NewObject[]> {
  const pair = await generateQuantumSafe(alg)
  const kind = toStoredKeyKind({ algorithm: alg.replaceAll('-', '_') as AlgorithmName })
  const [privateId, publicId] = [newObjectId(now), newObjectId(now)]
  const shared = {
    ...newObjectDefaults,
    ...kind,
    bits: quantumSafeBits(alg),
    state: 'Active',
    owner,
    createdAt: now,
    activationAt: now,
    form: {},
  } as const
  const attributes = (material: Uint8Array, format: string): ObjectAttributes =>
    ObjectAttributes.of([
      digestAttribute(material, format),
      toStoredValue('KeyFormatType', format),
      ...createGenerationAttributes(now),
    ])
  const secret = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
  const open = pair.publicKey.export({ format: 'der', type: 'spki' })
  return [
    {
      object: {
        ...shared,
        id: privateId,
        type: 'PrivateKey',
        usageMask: privateMask,
        linkedId: publicId,
        attributes: attributes(secret, 'PKCS_8'),
      },
      material: secret,
      tags: [],
    },
    {
      object: {
        ...shared,
        id: publicId,
        type: 'PublicKey',
        usageMask: publicMask,
        linkedId: privateId,
        attributes: attributes(open, 'X_509'),
      },
      material: open,
      tags: [],
    },
  ]
}
