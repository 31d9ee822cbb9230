import { keyFacts, requirePermitted } from '@warder/crypto'
import {
  abeAlgorithm,
  forgetsSecrets,
  formatAction,
  inFailures,
  keyNotFound,
  type RotationAction,
  readAction,
  requirePartsMayGo,
  requirePrincipal,
  rotateMaster,
  UnitOfWork,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type from 'typebox'
import { findPublicKey, PublicDigest } from './abe-structure.ts'
import type { RestServices } from './services.ts'

type Context = OperationContext<RestServices>

const attempts = 10
const Names = Type.Array(Type.String())

/** One action on an attribute-based master key. */
export const AbeRotation = Type.Object({
  RekeyAccessPolicy: Type.Optional(
    Type.String({ description: 'Renews the secrets of the rights in this policy.' }),
  ),
  PruneAccessPolicy: Type.Optional(Type.String({ description: 'Removes their former secrets.' })),
  AddAttribute: Type.Optional(
    Type.Array(Type.Array(Type.Union([Type.String(), Type.Null()])), {
      description:
        '`["Dimension::Name", "Classic" | "PostQuantum" | "Hybridized", null | "attribute just below in a hierarchy"]`',
    }),
  ),
  RenameAttribute: Type.Optional(Type.Array(Names, { description: '`["Dimension::Name", "NewName"]`' })),
  DisableAttribute: Type.Optional(Names),
  DeleteAttribute: Type.Optional(Names),
})

export const AbeRotationReply = Type.Object({
  kid: Type.String(),
  kid_public: Type.String(),
  digest: PublicDigest,
  refreshed: Names,
  not_refreshed: Type.Array(Type.String(), {
    description: 'User keys that do not belong to the master key.',
  }),
})

/** Changes a master key, its public key and its user keys, in one commit. @throws Failure */
export function rotateAbe(id: string, body: unknown, context: Context) {
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const work = async () => {
    const action = readAction(body)
    context.audit({ algorithm: abeAlgorithm, details: { action: formatAction(action).slice(0, 1024) } })
    return retryOnGuard(attempts, () => rotate(id, action, context))
  }
  return inFailures(work())
}

async function rotate(id: string, action: RotationAction, context: Context) {
  const { services } = context
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const master = await objects.read(id)
    if (master === undefined) throw keyNotFound()
    const publicKey = await findPublicKey(objects, master, 'rekey', context)
    if (forgetsSecrets(action)) await requirePartsMayGo(services.roles, master)
    const done = await rotateMaster(
      objects,
      services.db,
      { master, publicKey, caller: requirePrincipal(context).name },
      action,
      now,
    )
    const changed = await objects.read(publicKey.id)
    context.audit({ details: { linked: publicKey.id, refreshed: done.refreshed.length } })
    await objects.commit(context.commit)
    return {
      kid: master.id,
      kid_public: publicKey.id,
      digest: changed?.form.abe?.digest ?? '',
      refreshed: [...done.refreshed],
      not_refreshed: [...done.foreign],
    }
  } finally {
    objects.clear()
  }
}
