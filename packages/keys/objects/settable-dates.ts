import { failure } from '@warder/base'
import type { ManagedObject } from './managed-object.ts'
import { refusal } from './refusal.ts'
import { stateAt } from './state-machine.ts'

/** Dates of an object that its keepers choose. */
export const settableDates = ['activationAt', 'processStartAt', 'protectStopAt', 'deactivationAt'] as const
export type SettableDate = (typeof settableDates)[number]

/** Unix milliseconds; undefined removes a date; absent members stay unchanged. */
export type WantedDates = { readonly [Date in SettableDate]?: number | undefined }

const names: Readonly<Record<SettableDate, string>> = {
  activationAt: 'activation_at',
  processStartAt: 'process_start_at',
  protectStopAt: 'protect_stop_at',
  deactivationAt: 'deactivation_at',
}

/** Pairs of dates of which the first must not be later than the second (KMIP 2.1 §4.18, §4.40, §4.41). */
const order: readonly (readonly [earlier: SettableDate, later: SettableDate])[] = [
  ['activationAt', 'processStartAt'],
  ['activationAt', 'deactivationAt'],
  ['protectStopAt', 'deactivationAt'],
]

/**
 * The dates of an object after these changes. Dates in the past cannot be changed, and no date can be set to the past.
 * @throws failure('crypto_failure') with the problem
 */
export function withDates(object: ManagedObject, wanted: WantedDates, now: number): WantedDates {
  const state = stateAt(object, now)
  const refuse = (sentence: string) => failure('crypto_failure', sentence)
  const changed = settableDates.filter((date) => date in wanted && wanted[date] !== object[date])
  for (const date of changed) {
    const [before, after] = [object[date], wanted[date]]
    if (state !== 'PreActive' && state !== 'Active')
      throw refuse(`The key is ${state}: its dates can no longer be changed.`)
    if (date === 'activationAt' && state !== 'PreActive')
      throw refuse('The key is Active: activation_at can no longer be changed.')
    if (before !== undefined && before <= now)
      throw refuse(`${names[date]} has passed and can no longer be changed.`)
    if (after !== undefined && after < now) throw refuse(`${names[date]} is in the past.`)
  }
  const dates = Object.fromEntries(
    settableDates.map((date) => [date, date in wanted ? wanted[date] : object[date]]),
  ) as WantedDates
  for (const [earlier, later] of order) {
    const [first, second] = [dates[earlier], dates[later]]
    const isChanged = changed.includes(earlier) || changed.includes(later)
    if (isChanged && first !== undefined && second !== undefined && second < first)
      throw refuse(`${names[later]} is before ${names[earlier]}.`)
  }
  return dates
}

const attributes = {
  activationAt: 'ActivationDate',
  processStartAt: 'ProcessStartDate',
  protectStopAt: 'ProtectStopDate',
  deactivationAt: 'DeactivationDate',
} as const

/** @throws Refusal InvalidAttributeValue when a date of a new object comes before one that must not be later */
export function requireDateOrder(dates: WantedDates): void {
  for (const [earlier, later] of order) {
    const [first, second] = [dates[earlier], dates[later]]
    if (first !== undefined && second !== undefined && second < first)
      throw refusal('InvalidAttributeValue', `${attributes[later]} is before ${attributes[earlier]}.`)
  }
}
