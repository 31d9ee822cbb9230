import {
  abeAlgorithm,
  abeForm,
  abeThread,
  asObjectId,
  keyFacts,
  newObjectId,
  type ObjectId,
  readClientId,
  requirePermitted,
  stageNewObject,
} from '@warder/keys'
import type { TtlvNode } from '@warder/kmip-codec'
import { requireStructure } from '../../attributes/abe-request.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import type { PairReply } from '../../payloads/pair.ts'
import { newAbeKey } from './new-key.ts'

/**
 * CreateKeyPair of an attribute-based master key and its public key, from an access structure.
 * @param secret attributes of the master key; @param open of the public key
 */
export async function createMaster(
  context: KmipContext,
  secret: readonly TtlvNode[],
  open: readonly TtlvNode[],
): Promise<PairReply> {
  // Before the keys are made.
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const structure = requireStructure(secret)
  const { privateId, publicId } = identifiers(context, secret, open)
  const made = await abeThread.run({ type: 'createMaster', structure })
  const { master, publicKey, nextAttributeId } = made
  try {
    const masterForm = abeForm(master, { kind: 'master', nextAttributeId })
    const publicForm = abeForm(publicKey, { kind: 'public' })
    const ids = { id: privateId, linkedId: publicId, generated: true }
    stageNewObject(
      context,
      newAbeKey({ type: 'PrivateKey', material: master, form: masterForm, attributes: secret, ...ids }),
    )
    const others = { id: publicId, linkedId: privateId, generated: true }
    stageNewObject(
      context,
      newAbeKey({ type: 'PublicKey', material: publicKey, form: publicForm, attributes: open, ...others }),
    )
  } finally {
    master.fill(0)
  }
  context.audit({ object: privateId, algorithm: abeAlgorithm, details: { linked: publicId } })
  context.placeholder = privateId
  return { privateKeyUniqueIdentifier: privateId, publicKeyUniqueIdentifier: publicId }
}

/** If the client names only the master key, the public key gets the same name with `_pk`. */
function identifiers(context: KmipContext, secret: readonly TtlvNode[], open: readonly TtlvNode[]) {
  const said = readClientId(secret)
  const saidOpen = readClientId(open)
  const privateId = said ?? newObjectId(context.now)
  const follows = said !== undefined && (saidOpen === undefined || saidOpen === said)
  const publicId: ObjectId | undefined = follows
    ? asObjectId(`${said}_pk`)
    : (saidOpen ?? newObjectId(context.now))
  if (publicId === undefined || publicId === privateId)
    throw kmipFailure('InvalidAttributeValue', 'The keys of a pair must have different identifiers.')
  return { privateId, publicId }
}
