import { type ErrorKind, type Failure, failure } from '@warder/base'

/** Types of problems (RFC 8555 §6.7, RFC 9773 §7.4), with the kind of failure whose status they have. */
const types = {
  accountDoesNotExist: 'bad_request',
  alreadyReplaced: 'conflict',
  alreadyRevoked: 'bad_request',
  badCSR: 'bad_request',
  badNonce: 'bad_request',
  badPublicKey: 'bad_request',
  badRevocationReason: 'bad_request',
  badSignatureAlgorithm: 'bad_request',
  caa: 'forbidden',
  conflict: 'conflict',
  connection: 'bad_request',
  dns: 'bad_request',
  externalAccountRequired: 'forbidden',
  incorrectResponse: 'forbidden',
  invalidContact: 'bad_request',
  malformed: 'bad_request',
  notFound: 'not_found',
  orderNotReady: 'forbidden',
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'bad_request',
  serverInternal: 'crypto_failure',
  tls: 'bad_request',
  unauthorized: 'forbidden',
  unsupportedContact: 'bad_request',
  unsupportedIdentifier: 'bad_request',
  userActionRequired: 'forbidden',
} as const satisfies Readonly<Record<string, ErrorKind>>

export type ProblemType = keyof typeof types

/** A problem in an order, a challenge or a response. */
export interface Problem {
  readonly type: string
  readonly detail: string
  readonly status: number
}

/** Internal types for problems that have no type in the RFC. */
const plain: ReadonlySet<string> = new Set(['conflict', 'notFound'])

/** The URN of a problem. */
export function toUrn(type: string): string {
  return `urn:ietf:params:acme:error:${plain.has(type) ? 'malformed' : type}`
}

export interface ProblemOptions {
  /** More members of the document. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly retryAfterSeconds?: number
  /** For the log. */
  readonly detail?: string
}

/** Creates a failure of this problem type: `throw acmeProblem('badNonce', 'The nonce was used before.')`. */
export function acmeProblem(type: ProblemType, sentence: string, options: ProblemOptions = {}): Failure {
  const { members, ...rest } = options
  return failure(types[type], sentence, { ...rest, members: { ...members, type } })
}

/** The problem to write into an order or a challenge. */
export function createProblem(type: ProblemType, detail: string): Problem {
  return { type: toUrn(type), detail, status: failure(types[type], detail).status }
}
