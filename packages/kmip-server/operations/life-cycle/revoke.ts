import {
  findRegisterEntry,
  release,
  stageCompromisedKey,
  revoke as stageRevocation,
  toStatus,
} from '@warder/authority'
import {
  attributeMembers,
  type ManagedObject,
  readStoredAttributes,
  stateAt,
  transition,
  type UnitOfWork,
} from '@warder/keys'
import { dateTime, requireType, Tag, type TtlvNode, type ValueName, valueName } from '@warder/kmip-codec'
import type { RevocationReason } from '@warder/pki'
import type { Database } from '@warder/storage'
import {
  defineOperation,
  namedObject,
  type ObjectReply,
  objectReply,
  objectRight,
} from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, required } from '../../payloads/payload.ts'
import { revokeUserKeys } from '../abe/user-keys.ts'

const maxMessageBytes = 1024

/**
 * Revoke (KMIP 2.1 §6.1.44): a compromise makes the object Compromised in any state; any other reason deactivates an
 * object that is Active or Pre-Active (docs/adr/key-life-cycle-and-versions.md). Both store reason, message and date.
 */
export const revoke = defineOperation({
  name: 'Revoke',
  reach: ['change state', 'end object', 'end certificate'],
  access: objectRight('revoke'),
  request: definePayload({
    uniqueIdentifier: namedObject,
    revocationReason: required(field.node(Tag.RevocationReason, 'Structure')),
    compromiseOccurrenceDate: field.date(Tag.CompromiseOccurrenceDate),
  }),
  reply: objectReply,
  async handle({ revocationReason, compromiseOccurrenceDate: occurred }, context) {
    const { object, now } = context
    const reason = readReason(revocationReason)
    if (reason.message !== undefined && reason.message.length > maxMessageBytes)
      throw kmipFailure('InvalidField', `RevocationMessage may have at most ${maxMessageBytes} characters.`)
    if (!isCompromise(reason) && occurred !== undefined)
      throw kmipFailure('InvalidField', 'CompromiseOccurrenceDate requires a reason of compromise.')
    if (object.type === 'Certificate') return revokeCertificate(context, reason, occurred)
    if (isCertificateReason(reason))
      throw kmipFailure('InvalidField', 'This revocation reason is only allowed for certificates.')
    if (isCompromise(reason)) await stageCompromisedKey(context.objects, object, now)
    return revokeObject(context, object, reason, occurred)
  },
})

/** Deactivates the object, or makes it Compromised, and stores the reason. @throws kmipFailure WrongKeyLifecycleState */
export async function revokeObject(
  context: KmipContext,
  object: ManagedObject,
  reason: Reason,
  occurred: number | undefined,
): Promise<ObjectReply> {
  const { objects, object: stored, now } = context
  const compromise = isCompromise(reason)
  const state = stateAt(object, now)
  const allowed = compromise
    ? state !== 'Compromised' && state !== 'Destroyed_Compromised'
    : state === 'Active' || state === 'PreActive'
  if (!allowed) throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
  // The state diagram has no transition from Pre-Active to Deactivated; the text of Revoke has (KMIP 2.1 §6.1.44).
  const cycle =
    state === 'PreActive' && !compromise
      ? { ...object, state: 'Deactivated' as const, deactivationAt: now }
      : transition({ ...object, state }, compromise ? 'compromise' : 'deactivate', now)
  const kept = readStoredAttributes(object).filter(({ tag }) => tag !== Tag.CompromiseOccurrenceDate)
  objects.update(stored, {
    state: cycle.state,
    activationAt: cycle.activationAt,
    deactivationAt: cycle.deactivationAt,
    compromisedAt: cycle.compromisedAt,
    revocationReason: reason.code,
    revocationMessage: reason.message,
    ...(compromise &&
      attributeMembers(
        [...kept, dateTime(Tag.CompromiseOccurrenceDate, occurrence(occurred, object.createdAt, now))],
        object,
      )),
  })
  const answer = { uniqueIdentifier: object.id }
  if (object.form.abe === undefined) return answer
  const ending = { compromise, revocationReason: reason.code, revocationMessage: reason.message }
  await revokeUserKeys(context, object, ending)
  return answer
}

function isCompromise({ code }: Reason): boolean {
  return code === 'KeyCompromise' || code === 'CACompromise' || code === 'AACompromise'
}

interface Reason {
  readonly code: ValueName<'RevocationReasonCode'> | CertificateReason
  readonly message: string | undefined
}

const reasonMembers = definePayload({
  code: required(field.code(Tag.RevocationReasonCode)),
  message: field.text(Tag.RevocationMessage),
})

/**
 * Reads RevocationReason as in the standard, or as cloudproof_kms_js sends it (`packages/kmip-codec/json/tolerances.ts`): the
 * message alone, or the number of the code.
 * @throws KmipDecodeError, InvalidField
 */
function readReason(node: TtlvNode): Reason {
  if (node.type === 'TextString') return { code: 'Unspecified', message: withoutNul(node.value) }
  if (node.type === 'Integer') {
    const code = valueName('RevocationReasonCode', node.value)
    if (code === undefined) throw kmipFailure('InvalidField', 'RevocationReason has an unknown code.')
    return { code, message: undefined }
  }
  const { code, message } = reasonMembers.decode(requireType(node, 'Structure'))
  const name = certificateReasons.get(code >>> 0) ?? valueName('RevocationReasonCode', code)
  if (name === undefined) throw kmipFailure('InvalidField', 'RevocationReasonCode has an unknown value.')
  return { code: name, message: withoutNul(message) }
}

function withoutNul<T extends string | undefined>(text: T): T | string {
  return text === undefined ? text : text.replaceAll('\u0000', '\ufffd')
}

/** Reasons of RFC 5280 that the standard lacks, under the numbers of extensions that other servers use. */
const certificateReasons: ReadonlyMap<number, CertificateReason> = new Map([
  [0x80000001, 'CertificateHold'],
  [0x80000002, 'RemoveFromCRL'],
  [0x80000003, 'AACompromise'],
])
type CertificateReason = 'CertificateHold' | 'RemoveFromCRL' | 'AACompromise'

function isCertificateReason({ code }: Reason): boolean {
  return [...certificateReasons.values()].some((reason) => reason === code)
}

/**
 * Also revokes the certificate in the register of the authority that issued it. The object of a certificate on hold
 * stays as it is, so that the hold can be released: with RemoveFromCRL, by a caller with the right to revoke
 * certificates of the authority.
 */
async function revokeCertificate(
  context: KmipContext,
  reason: Reason,
  occurred: number | undefined,
): Promise<ObjectReply> {
  const { object, objects, now, services } = context
  const requireAuthority = (id: string) => context.permitted(id, 'revoke')
  const certificate = { object, objects, now, db: services.db, requireAuthority }
  const done = await registerRevocation(certificate, reason.code, occurred)
  if (done === 'object stays') return { uniqueIdentifier: object.id }
  if (isCertificateReason(reason) && !isCompromise(reason))
    throw kmipFailure(
      'InvalidField',
      'No authority of this server issued this certificate: it cannot be put on hold.',
    )
  return revokeObject(context, object, reason, occurred)
}

/** In seconds; without a date in the request it is the InitialDate (KMIP 2.1 §6.1.44). */
function occurrence(given: number | undefined, createdAt: number, now: number): number {
  if (given === undefined) return Math.floor(createdAt / 1000)
  return given === 0 ? Math.floor(now / 1000) : given
}

/** The reasons of RFC 5280 §5.3.1 for those of KMIP and its extensions. */
const reasons: Readonly<Record<string, RevocationReason>> = {
  Unspecified: 'unspecified',
  KeyCompromise: 'keyCompromise',
  CACompromise: 'cACompromise',
  AffiliationChanged: 'affiliationChanged',
  Superseded: 'superseded',
  CessationOfOperation: 'cessationOfOperation',
  PrivilegeWithdrawn: 'privilegeWithdrawn',
  CertificateHold: 'certificateHold',
  RemoveFromCRL: 'removeFromCRL',
  AACompromise: 'aACompromise',
}

/**
 * Stages the revocation of a certificate in the register of its issuer.
 * @param occurred when the key was compromised, Unix seconds
 * @param requireAuthority throws unless the caller may revoke certificates issued by the authority with this
 *   certificate
 * @returns whether the object itself must be revoked, too
 * @throws Failure conflict, bad_request
 */
async function registerRevocation(
  {
    object,
    objects,
    now,
    db,
    requireAuthority,
  }: {
    readonly object: ManagedObject
    readonly objects: UnitOfWork
    readonly now: number
    readonly db: Database
    readonly requireAuthority: (authorityId: string) => Promise<unknown>
  },
  code: string,
  occurred: number | undefined,
): Promise<'object ends' | 'object stays'> {
  const der = await objects.material(object)
  const issued = der === undefined ? undefined : await findRegisterEntry(db, object, der)
  // For a revoked certificate, the life cycle of its object determines the possible changes.
  if (issued === undefined || toStatus(issued) === 'revoked') return 'object ends'
  const reason = reasons[code] ?? 'unspecified'
  if (reason === 'removeFromCRL') {
    await requireAuthority(issued.authorityId)
    release(db, objects, issued, now)
    return 'object stays'
  }
  const invalidityAt = occurred === undefined || occurred === 0 ? undefined : Math.min(occurred * 1000, now)
  stageRevocation(db, objects, { issued, object: undefined, der }, { reason, invalidityAt }, now)
  return reason === 'certificateHold' ? 'object stays' : 'object ends'
}
