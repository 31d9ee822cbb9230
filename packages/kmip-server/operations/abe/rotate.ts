import {
  abeAlgorithm,
  findLinkTarget,
  forgetsSecrets,
  formatAction,
  keyFacts,
  readAction,
  requirePartsMayGo,
  requirePermitted,
  rotateMaster,
} from '@warder/keys'
import type { TtlvNode } from '@warder/kmip-codec'
import { actionAttribute, requireJson } from '../../attributes/abe-request.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import type { PairReply } from '../../payloads/pair.ts'

/**
 * ReKeyKeyPair of an attribute-based master key: the action changes the pair in place, and the user keys of the master
 * key are refreshed in the same commit.
 * @param wishes attributes of the pair and of its private half
 */
export async function rotate(wishes: readonly TtlvNode[], context: KmipContext): Promise<PairReply> {
  const { object: master, services, objects, now } = context
  requirePermitted(services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const action = readAction(requireJson(wishes, actionAttribute))
  const linked = master.linkedId ?? findLinkTarget(master, 'PublicKeyLink')
  const publicKey = linked === undefined ? undefined : await objects.read(linked)
  if (publicKey?.form.abe?.kind !== 'public' || publicKey.owner !== master.owner)
    throw kmipFailure('InvalidField', 'The public key of this master key is not stored on this server.')
  await context.permitted(publicKey.id, 'rekey')
  if (forgetsSecrets(action)) await requirePartsMayGo(services.roles, master)
  const done = await rotateMaster(
    objects,
    services.db,
    { master, publicKey, caller: context.principal.name },
    action,
    now,
  )
  context.audit({
    object: master.id,
    algorithm: abeAlgorithm,
    details: {
      linked: publicKey.id,
      action: formatAction(action).slice(0, 1024),
      refreshed: done.refreshed.length,
      ...(done.foreign.length > 0 && { not_refreshed: done.foreign.slice(0, 100) }),
    },
  })
  context.placeholder = master.id
  return { privateKeyUniqueIdentifier: master.id, publicKeyUniqueIdentifier: publicKey.id }
}
