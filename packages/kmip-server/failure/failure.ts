import { type ErrorKind, errorKinds, Failure } from '@warder/base'
import { CovercryptError, type CovercryptErrorCode } from '@warder/covercrypt'
import { explain, Refusal, toRefusal } from '@warder/keys'
import {
  Enumeration,
  KmipDecodeError,
  type KmipVersion,
  messageIn,
  type OperationName,
  type ResultReason,
  reasonIn,
  toResultReason,
} from '@warder/kmip-codec'

/**
 * Why an operation failed, with a result reason of KMIP 2.1. Refusals of keys and authorities are such failures, too.
 */
export const KmipFailure = Refusal
export type KmipFailure = Refusal<ResultReason>

/** Makes a failure to throw: `throw kmipFailure('WrongKeyLifecycleState', 'DENIED')`. */
export function kmipFailure(reason: ResultReason, message: string, detail?: string): KmipFailure {
  return new KmipFailure(reason, message, detail)
}

/** The KMIP reasons for the errors of @warder/covercrypt. Failed decryption has KMIP's own reason. */
const covercryptReasons: Readonly<Record<CovercryptErrorCode, ResultReason>> = {
  malformed: 'InvalidField',
  invalid_policy: 'InvalidField',
  invalid_structure: 'InvalidField',
  unknown_attribute: 'InvalidField',
  disabled_attribute: 'CryptographicFailure',
  mixed_modes: 'InvalidField',
  too_large: 'ServerLimitExceeded',
  foreign_key: 'CryptographicFailure',
  cannot_open: 'CryptographicFailure',
}

/** Converts a PkiError, a CovercryptError or a CryptoFailure into a KMIP failure; other errors are unchanged. */
export function inKmipReasons(thrown: unknown): unknown {
  if (thrown instanceof CovercryptError) {
    const words = thrown.code === 'cannot_open' ? 'CRYPTO' : thrown.message
    return kmipFailure(covercryptReasons[thrown.code], words)
  }
  return toRefusal(thrown)
}

/** Runs `act` and converts its PkiErrors and CryptoFailures to KmipFailures, for callers that check the reason. */
export function withKmipReasons<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw inKmipReasons(error)
  }
}

/** A thrown error as the client, the audit record and HTTP get it. */
export interface Told {
  readonly reason: ResultReason
  readonly message: string
  readonly failure: Failure
}

/** Translates anything thrown. An error outside of the registry is an internal error, whose cause goes only to the log. */
export function toPublicFailure(thrown: unknown): Told {
  const known =
    thrown instanceof KmipDecodeError ? kmipFailure(toResultReason(thrown), thrown.message) : thrown
  const { reason, message, failure: told } = explain(inKmipReasons(known))
  const ours = reason as ResultReason
  return { reason: ours, message, failure: withWords(told, told.message, ours) }
}

/** A public failure with a result reason that the client's version has. The HTTP status stays. */
export function failureIn(version: KmipVersion, told: Failure, operation?: OperationName): Failure {
  const reason = told.members?.result_reason
  if (!isReason(reason)) return told
  return withWords(
    told,
    messageIn(version, told.message, reason, operation),
    reasonIn(version, reason, operation),
  )
}

function isReason(name: unknown): name is ResultReason {
  return typeof name === 'string' && Object.hasOwn(Enumeration.ResultReason, name)
}

function withWords(told: Failure, message: string, reason: ResultReason): Failure {
  const { kind, detail, retryAfterSeconds, cause, headers, members } = told
  // For kinds with a fixed sentence this text is the private detail.
  return new Failure(kind, hasFixedMessage(kind) ? detail : message, {
    ...(detail !== undefined && { detail }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(headers !== undefined && { headers }),
    cause,
    members: { ...members, result_reason: reason },
  })
}

function hasFixedMessage(kind: ErrorKind): boolean {
  return 'fixed' in errorKinds[kind]
}
