import type { ResultReason } from '../tables/reasons.ts'
import type { KmipDecodeError, KmipDecodeReason } from '../ttlv/error.ts'

const reasons: Readonly<Partial<Record<KmipDecodeReason, ResultReason>>> = {
  missing_member: 'MissingData',
  repeated_member: 'InvalidField',
  wrong_member: 'InvalidField',
  invalid_value: 'InvalidField',
  unknown_enumeration: 'InvalidField',
}

/** The result reason of an item whose payload could not be read: InvalidMessage where the form itself is wrong. */
export function toResultReason(error: KmipDecodeError): ResultReason {
  return reasons[error.reason] ?? 'InvalidMessage'
}
