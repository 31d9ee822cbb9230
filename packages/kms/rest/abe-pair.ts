import { failure } from '@warder/base'
import {
  findLinkTarget,
  type ManagedObject,
  type Right,
  requireAbe,
  requirePermittedKey,
  requirePrincipal,
  type UnitOfWork,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import Type from 'typebox'
import type { RestServices } from './services.ts'

type Context = OperationContext<RestServices>

export const PublicDigest = Type.String({ description: 'SHA-256 of the public key, base64url.' })

/**
 * The public key of a master key, which its owner has here.
 * @param right that the caller needs on it
 * @throws failure('crypto_failure') for objects that are not a master key, or have no public key here; as
 *   `requirePermittedKey`
 */
export async function findPublicKey(
  objects: UnitOfWork,
  master: ManagedObject,
  right: Right,
  { services, ...context }: Context,
): Promise<ManagedObject> {
  requireAbe(master, 'master')
  const id = master.linkedId ?? findLinkTarget(master, 'PublicKeyLink')
  const found = id === undefined ? undefined : await objects.read(id)
  if (found?.form.abe?.kind !== 'public' || found.owner !== master.owner)
    throw failure('crypto_failure', 'The public key of this master key is not here.')
  await requirePermittedKey(services, requirePrincipal({ services, ...context }), found.id, right)
  return found
}
