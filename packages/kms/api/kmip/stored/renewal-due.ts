import { Tag } from '@warder/kmip/tables'
import type { ManagedObject } from '../../../keys/index.ts'
import { storedWithTag } from './stored-attributes.ts'

/**
 * When a certificate, or a pair with one, is to be renewed (KMIP 2.1 §4.52 to §4.57): RotateInterval after it was made or
 * renewed, or at two thirds of the life of the certificate where no interval is set.
 * @param certificate of the pair, or the object itself
 * @returns Unix milliseconds; undefined: never, because it has no dates
 */
export function renewalDueAt(object: ManagedObject, certificate = object): number | undefined {
  const interval = renewalInterval(object)
  if (interval > 0) {
    const renewed = secondsOf(object, Tag.RotateDate) * 1000
    const begin = renewed > 0 ? renewed : object.createdAt + secondsOf(object, Tag.RotateOffset) * 1000
    return begin + interval * 1000
  }
  const { activationAt, deactivationAt } = certificate
  if (activationAt === undefined || deactivationAt === undefined) return undefined
  return activationAt + Math.floor(((deactivationAt - activationAt) * 2) / 3)
}

/** Seconds; 0 = none is set. */
export function renewalInterval(object: ManagedObject): number {
  return secondsOf(object, Tag.RotateInterval)
}

function secondsOf(object: ManagedObject, tag: number): number {
  const value = storedWithTag(object, tag).at(-1)?.value
  return typeof value === 'number' ? value : 0
}

export function renewsItself(object: ManagedObject): boolean {
  return storedWithTag(object, Tag.RotateAutomatic).at(-1)?.value === true
}
