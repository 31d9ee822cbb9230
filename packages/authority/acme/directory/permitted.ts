import { failure } from '@warder/base'
import {
  asObjectId,
  findObject,
  officerAccess,
  type Right,
  requireAllowed,
  requirePrincipal,
  signedIn,
  verdictOn,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { GuardFailed, UniqueViolation } from '@warder/storage'
import { findAuthority } from '../../signing/authority.ts'
import type { AcmeServices } from '../protocol/services.ts'
import { type Directory, findDirectory } from '../stored/directory-store.ts'

/** Common part of the operations with which signed-in users manage ACME. */
export const managementRow = {
  tag: 'PKI',
  access: signedIn,
  errors: {
    403: 'The caller lacks the required right on the authority.',
    404: 'The caller has no right on such an authority.',
  },
} as const

type Context = OperationContext<AcmeServices>

/** The authority, if the caller has the right on its certificate. @throws not_found, forbidden */
export async function requireAuthority(context: Context, id: string, right: Right): Promise<void> {
  context.audit({ object: id })
  const { db, roles } = context.services
  const known = asObjectId(id)
  const object = known === undefined ? undefined : await findObject(db, known)
  const authority = object && (await findAuthority(db, object.id))
  if (object === undefined || authority === undefined) throw failure('not_found', 'Authority not found.')
  const asOfficer = () => context.audit(officerAccess)
  requireAllowed(await verdictOn(db, roles, object, requirePrincipal(context), right, asOfficer))
}

/** @throws not_found */
export async function requireOpen({ services }: Context, id: string): Promise<Directory> {
  const directory = await findDirectory(services.db, id)
  if (directory === undefined) throw failure('not_found', 'The authority is not open for ACME.')
  return directory
}

/** @throws conflict when another request changed it first */
export async function orConflict(commit: Promise<unknown>): Promise<void> {
  try {
    await commit
  } catch (error) {
    if (error instanceof GuardFailed || error instanceof UniqueViolation)
      throw failure('conflict', undefined, { cause: error })
    throw error
  }
}

/** @throws not_found when the guard requires the row to exist */
export async function orNotFound(commit: Promise<unknown>, sentence: string): Promise<void> {
  try {
    await commit
  } catch (error) {
    if (error instanceof GuardFailed) throw failure('not_found', sentence)
    throw error
  }
}
