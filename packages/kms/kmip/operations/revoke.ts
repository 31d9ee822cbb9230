import { Tag } from '@warder/kmip/tables'
import { dateTime, optional, requiredStructure } from '@warder/kmip/ttlv'
import { stateAt, transition } from '../../objects/index.ts'
import type { KmipOperation } from '../engine/index.ts'
import { kmipFailure, objectRight, requiredName, uniqueIdentifier } from '../engine/index.ts'
import { attributeBag, storedAttributes } from '../object/index.ts'

const longestMessage = 1024

/**
 * Revoke (KMIP 2.1 §6.1.44): a compromise makes the object Compromised whatever it was, any other reason ends the use of
 * an Active one. Both are remembered with reason, message and date.
 */
export const revoke: KmipOperation = {
  name: 'Revoke',
  access: objectRight('revoke'),
  act(payload, { object, objects, now }) {
    const given = requiredStructure(payload, Tag.RevocationReason)
    const code = requiredName(given, Tag.RevocationReasonCode, 'RevocationReasonCode')
    const message = optional(given, Tag.RevocationMessage, 'TextString')?.replaceAll('\u0000', '\ufffd')
    if (message !== undefined && message.length > longestMessage)
      throw kmipFailure('InvalidField', `RevocationMessage has at most ${longestMessage} characters.`)
    const occurred = optional(payload, Tag.CompromiseOccurrenceDate, 'DateTime')
    const compromise = code === 'KeyCompromise' || code === 'CACompromise'
    if (!compromise && occurred !== undefined)
      throw kmipFailure('InvalidField', 'CompromiseOccurrenceDate is for compromises.')
    const state = stateAt(object, now)
    const allowed = compromise
      ? state !== 'Compromised' && state !== 'Destroyed_Compromised'
      : state === 'Active'
    if (!allowed) throw kmipFailure('WrongKeyLifecycleState', 'DENIED')
    const cycle = transition({ ...object, state }, compromise ? 'compromise' : 'deactivate', now)
    const stored = storedAttributes(object).filter(({ tag }) => tag !== Tag.CompromiseOccurrenceDate)
    objects.update(object, {
      state: cycle.state,
      deactivationAt: cycle.deactivationAt,
      compromisedAt: cycle.compromisedAt,
      revocationReason: code,
      revocationMessage: message,
      ...(compromise && {
        attributes: attributeBag(object.attributes, [
          ...stored,
          dateTime(Tag.CompromiseOccurrenceDate, occurrence(occurred, object.createdAt, now)),
        ]),
      }),
    })
    return [uniqueIdentifier(object.id)]
  },
}

/** In seconds; a client that does not know when it was gets the InitialDate (KMIP 2.1 §6.1.44). */
function occurrence(given: number | undefined, createdAt: number, now: number): number {
  if (given === undefined) return Math.floor(createdAt / 1000)
  return given === 0 ? Math.floor(now / 1000) : given
}
