import { findIssuedCertificate, findRegisterEntry, type IssuedCertificate } from '@warder/authority'
import { failure } from '@warder/base'
import {
  asObjectId,
  findObject,
  findWithMaterial,
  keyNotFound,
  type ManagedObject,
  type Right,
  requireAllowed,
  requirePrincipal,
  type Verdict,
  verdictOn,
} from '@warder/keys'
import type { Access, AuditFields, OperationContext } from '@warder/server'
import type { PkiServices } from './services.ts'

/** A certificate that the caller has a right on. */
export interface FoundCertificate {
  readonly id: string
  /** Undefined when only the register still has the certificate. */
  readonly object: ManagedObject | undefined
  /** DER. */
  readonly der: Uint8Array | undefined
  /** Undefined for a certificate that no local authority issued. */
  readonly issued: IssuedCertificate | undefined
}

class Finding {
  readonly certificate: FoundCertificate

  constructor(certificate: FoundCertificate) {
    this.certificate = certificate
  }
}

export interface CertificateAccess extends Access<PkiServices> {
  resolved(context: OperationContext<PkiServices>): FoundCertificate
}

/** Objects on which a right is accepted: the certificate, the authority that issued it, or either of them. */
export type RightHolder = 'certificate' | 'authority' | 'either'

const holderText: Readonly<Record<RightHolder, string>> = {
  certificate: 'on the certificate itself',
  authority: 'on the authority that issued it',
  either: 'on the certificate or its authority',
}

/**
 * Requires the right on the certificate in the path or on the authority that issued it: a user with a right on an
 * authority also has it on the certificates that the authority issued. An operation reserved for the owner of the
 * certificate, or for that of the authority, sets `on`.
 */
export function certificateRight(right: Right, on: RightHolder = 'either'): CertificateAccess {
  return {
    name: `key right: ${right}, ${holderText[on]}`,
    async check({ path }, context) {
      const id = path.id ?? ''
      context.audit({ object: id })
      context.found = new Finding(await requirePermittedCertificate(context, id, right, on))
    },
    resolved({ found }) {
      if (found instanceof Finding) return found.certificate
      throw failure('internal_error', `the access check of ${right} did not run`)
    },
  }
}

/**
 * The same check on rows that are read now.
 * @throws Failure not_found, also for a caller without any right on it; forbidden
 */
export async function requirePermittedCertificate(
  context: OperationContext<PkiServices>,
  id: string,
  right: Right,
  on: RightHolder = 'either',
): Promise<FoundCertificate> {
  const found = await findCertificate(context.services, id)
  const { object, issued } = found
  const own = await verdict(context, object, right)
  if (issued === undefined || (own === 'allowed' && on !== 'authority')) {
    requireAllowed(own)
    return found
  }
  const authority = await authorityObject(context.services, issued.authorityId)
  const above = await verdict(context, authority, on === 'certificate' ? 'getattributes' : right)
  if (above === 'allowed' && on !== 'certificate') return found
  // A caller who may see the certificate gets `forbidden` instead of `not_found`.
  requireAllowed(own === 'nothing' && above === 'nothing' ? 'nothing' : 'lacks_this_right')
  return found
}

async function verdict(
  context: OperationContext<PkiServices>,
  object: ManagedObject | undefined,
  right: Right,
): Promise<Verdict> {
  if (object === undefined) return 'nothing'
  const { db, roles } = context.services
  const audit = (fields: AuditFields) => context.audit(fields)
  return verdictOn(db, roles, object, requirePrincipal(context), right, audit)
}

async function findCertificate(services: PkiServices, text: string): Promise<FoundCertificate> {
  const { db, seal, keys } = services
  const id = asObjectId(text)
  if (id === undefined) throw keyNotFound()
  const stored = await findWithMaterial(db, seal, id, keys.hsms)
  if (stored !== undefined && stored.object.type === 'Certificate') {
    const { object, material: der } = stored
    const issued = der === undefined ? undefined : await findRegisterEntry(db, object, der)
    return { id, object, der, issued }
  }
  stored?.material?.fill(0)
  // A reused identifier belongs to the object that has it now.
  const issued = stored === undefined ? await findIssuedCertificate(db, id) : undefined
  return { id, object: undefined, der: undefined, issued }
}

async function authorityObject({ db }: PkiServices, text: string): Promise<ManagedObject | undefined> {
  const id = asObjectId(text)
  return id === undefined ? undefined : findObject(db, id)
}
