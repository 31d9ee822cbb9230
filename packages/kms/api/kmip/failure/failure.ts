import { CovercryptError } from '@warder/covercrypt/error'
import { type ErrorKind, errorKinds, Failure, failure, toFailure } from '@warder/foundation/errors'
import { UniqueViolation } from '@warder/foundation/sql'
import { reasonOf } from '@warder/kmip/messages'
import {
  Enumeration,
  type KmipVersion,
  messageIn,
  type OperationName,
  type ResultReason,
  reasonIn,
} from '@warder/kmip/tables'
import { KmipDecodeError } from '@warder/kmip/ttlv'
import { PkiError } from '@warder/pki/error'
import { CryptoFailure } from '../../../crypto/index.ts'
import { identifierTaken } from '../../../keys/index.ts'
import {
  kindOfReason,
  reasonOfCovercryptError,
  reasonOfCryptoFailure,
  reasonOfKind,
  reasonOfPkiError,
} from './reasons.ts'

/** Why an operation failed, in the words of KMIP 2.1. The message goes to the client. */
export class KmipFailure extends Error {
  readonly reason: ResultReason
  /** Goes to the log, never to the client. */
  readonly detail: string | undefined

  constructor(reason: ResultReason, message: string, detail?: string) {
    super(message)
    this.name = 'KmipFailure'
    this.reason = reason
    this.detail = detail
  }
}

/** Makes a failure to throw: `throw kmipFailure('WrongKeyLifecycleState', 'DENIED')`. */
export function kmipFailure(reason: ResultReason, message: string, detail?: string): KmipFailure {
  return new KmipFailure(reason, message, detail)
}

/** A PkiError, a CovercryptError or a CryptoFailure as the failure of KMIP that it is; anything else as it is. */
export function inKmipReasons(thrown: unknown): unknown {
  if (thrown instanceof CryptoFailure) {
    const { reason, words } = reasonOfCryptoFailure[thrown.code]
    return kmipFailure(reason, words ?? thrown.message)
  }
  if (thrown instanceof CovercryptError) {
    const words = thrown.code === 'cannot_open' ? 'CRYPTO' : thrown.message
    return kmipFailure(reasonOfCovercryptError[thrown.code], words)
  }
  return thrown instanceof PkiError ? kmipFailure(reasonOfPkiError[thrown.code], thrown.message) : thrown
}

/** Runs `act`, whose PkiErrors and CryptoFailures become KmipFailures, for callers that look at the reason. */
export function withKmipReasons<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw inKmipReasons(error)
  }
}

/** A thrown error as the client, the audit record and HTTP are told of it. */
export interface Told {
  readonly reason: ResultReason
  readonly message: string
  readonly failure: Failure
}

/** Translates anything thrown. An error outside of the registry is an internal error, whose cause goes only to the log. */
export function toldOf(thrown: unknown): Told {
  if (thrown instanceof KmipFailure) {
    const { reason, message, detail } = thrown
    const members = { result_reason: reason }
    const options = detail === undefined ? { members } : { members, detail }
    return { reason, message, failure: failure(kindOfReason(reason), message, options) }
  }
  const known = inKmipReasons(thrown)
  if (known !== thrown) return toldOf(known)
  if (thrown instanceof KmipDecodeError) return toldOf(kmipFailure(reasonOf(thrown), thrown.message))
  if (thrown instanceof UniqueViolation) return toldOf(identifierTaken())
  return toldOfRegistered(toFailure(thrown))
}

/** The same failure, with its KMIP reason among the members of the body. */
function toldOfRegistered(told: Failure): Told {
  const reason = reasonOfKind[told.kind]
  return { reason, message: told.message, failure: withWords(told, told.message, reason) }
}

/** A failure that was told, in the words that a client of this version knows. The HTTP status stays. */
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
  // For kinds with a fixed sentence what is given here is the detail.
  return new Failure(kind, fixed(kind) ? detail : message, {
    ...(detail !== undefined && { detail }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(headers !== undefined && { headers }),
    cause,
    members: { ...members, result_reason: reason },
  })
}

function fixed(kind: ErrorKind): boolean {
  return 'fixed' in errorKinds[kind]
}
