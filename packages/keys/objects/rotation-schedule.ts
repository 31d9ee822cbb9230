import { findLinkTarget, type ManagedObject } from './managed-object.ts'
import { minInterval } from './rotation-policy.ts'

// `RotateAutomatic`, `RotateInterval` and `RotateOffset` of a key (KMIP 2.1 §4.52, §4.54, §4.56) are its schedule, which
// REST calls `rotate_every`: stored together on generation 0 and on the newest version, which clients name
// (docs/adr/rotation.md). For a certificate, and a pair that is renewed with its certificate, they schedule the
// renewal.

const names = ['RotateAutomatic', 'RotateInterval', 'RotateOffset'] as const

type WithAttributes = Pick<ManagedObject, 'attributes'>

/** Schedule in the columns. Seconds; undefined = it is not rotated by time. */
export interface AttributeSchedule {
  readonly rotateEvery: number | undefined
  /** Before the first interval begins, seconds. */
  readonly rotateOffset: number | undefined
}

/** Renewal of a certificate, or of a pair with its certificate. */
export interface RenewalSettings {
  readonly automatic: boolean
  /** Seconds between two renewals; undefined = at two thirds of the certificate's life. */
  readonly everySeconds: number | undefined
}

/** Is it rotated by the service, and not renewed together with its certificate? */
export function hasOwnSchedule(object: ManagedObject): boolean {
  const { type, form } = object
  if (form.abe !== undefined) return false
  return type === 'SymmetricKey' || (type === 'PrivateKey' && !findLinkTarget(object, 'CertificateLink'))
}

/** A shorter interval than the minimum of the service counts as the minimum. */
export function scheduleIn({ attributes }: WithAttributes): AttributeSchedule {
  const { automatic, everySeconds } = renewalSettings({ attributes })
  if (!automatic || everySeconds === undefined) return { rotateEvery: undefined, rotateOffset: undefined }
  const offset = attributes.get('RotateOffset') ?? 0
  return {
    rotateEvery: Math.max(everySeconds, minInterval),
    rotateOffset: offset === 0 ? undefined : offset,
  }
}

/** Does an edit change the schedule? */
export function isScheduleChanged(before: WithAttributes, after: WithAttributes): boolean {
  return names.some((name) => before.attributes.get(name) !== after.attributes.get(name))
}

/** The attributes of `object` with the schedule that `from` has. */
export function copySchedule({ attributes }: WithAttributes, from: WithAttributes): WithAttributes {
  return {
    attributes: attributes.with(Object.fromEntries(names.map((name) => [name, from.attributes.get(name)]))),
  }
}

/** The attributes of a key with a schedule, if it has one of its own. @param every seconds; undefined = none by time */
export function withRotation(object: ManagedObject, every: number | undefined): WithAttributes {
  const { attributes } = object
  if (!hasOwnSchedule(object)) return { attributes }
  const changes = { RotateOffset: undefined, RotateAutomatic: every !== undefined, RotateInterval: every }
  return { attributes: attributes.with(changes) }
}

export function renewalSettings({ attributes }: WithAttributes): RenewalSettings {
  const every = attributes.get('RotateInterval') ?? 0
  return {
    automatic: attributes.get('RotateAutomatic') === true,
    everySeconds: every > 0 ? every : undefined,
  }
}

/** The attributes of a certificate or of its private key with these settings. */
export function withRenewal(object: WithAttributes, settings: RenewalSettings): WithAttributes {
  const { automatic, everySeconds } = settings
  const changes = { RotateAutomatic: automatic, RotateInterval: everySeconds }
  return { attributes: object.attributes.with(changes) }
}

/**
 * When a certificate, or a pair with one, is to be renewed (KMIP 2.1 §4.52 to §4.57): RotateInterval after it was made
 * or renewed, or at two thirds of the life of the certificate if no interval is set.
 * @param certificate of the pair, or the object itself
 * @returns Unix milliseconds; undefined: never, because it has no dates
 */
export function renewalDueAt(object: ManagedObject, certificate = object): number | undefined {
  const { attributes, createdAt } = object
  const { everySeconds } = renewalSettings(object)
  if (everySeconds !== undefined) {
    const renewed = attributes.get('RotateDate') ?? 0
    const begin = renewed > 0 ? renewed : createdAt + (attributes.get('RotateOffset') ?? 0) * 1000
    return begin + everySeconds * 1000
  }
  const { activationAt, deactivationAt } = certificate
  if (activationAt === undefined || deactivationAt === undefined) return undefined
  return activationAt + Math.floor(((deactivationAt - activationAt) * 2) / 3)
}
