import { asObjectId, findObject, hasCreateRight, mayCreate, verdictOn } from '@warder/keys'
import { acmeProblem } from '../protocol/problem.ts'
import type { AcmeServices } from '../protocol/services.ts'

/**
 * Requires that the user of an account may still use the authority. Withdrawn rights take effect for accounts at once.
 * @param now true: a certificate is issued now, so the user must also have room for a new object
 * @throws unauthorized
 */
export async function requireCertify(
  { db, roles }: AcmeServices,
  authorityId: string,
  owner: string,
  { now }: { readonly now: boolean } = { now: false },
): Promise<void> {
  const id = asObjectId(authorityId)
  const object = id === undefined ? undefined : await findObject(db, id)
  const isAllowed =
    object !== undefined &&
    (await verdictOn(db, roles, object, { name: owner }, 'certify')) === 'allowed' &&
    (await (now ? mayCreate : hasCreateRight)(db, roles, owner))
  if (!isAllowed)
    throw acmeProblem(
      'unauthorized',
      'The user of this account no longer has the right certify on the authority.',
    )
}
