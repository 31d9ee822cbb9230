import type { ErrorKind } from '@warder/base'
import type { ErrorShape, PublicError } from '@warder/server'
import Type from 'typebox'
import type { Nonces } from './nonces.ts'
import { type ProblemType, toUrn } from './problem.ts'

/** Problem type for failures that have none: those of other parts of the service, or from before the handler. */
const typesByKind: Partial<Readonly<Record<ErrorKind, ProblemType>>> = {
  unauthorized: 'unauthorized',
  forbidden: 'unauthorized',
  rate_limited: 'rateLimited',
  crypto_failure: 'serverInternal',
  unsupported_algorithm: 'badPublicKey',
}

function toProblemType({ kind, status, members }: PublicError): string {
  if (typeof members?.type === 'string') return members.type
  return typesByKind[kind] ?? (status >= 500 ? 'serverInternal' : 'malformed')
}

/** Failures as RFC 7807 documents, each with a fresh nonce (RFC 8555 §6.5, §6.7). */
export function acmeErrors(nonces: Nonces): ErrorShape {
  return {
    documented: {
      contentType: 'application/problem+json',
      schema: Type.Object({ type: Type.String(), detail: Type.String(), status: Type.Integer() }),
    },
    reply(told) {
      const { type: _, ...members } = told.members ?? {}
      // The service itself refuses, for example when the key of the authority may not be used.
      const status = told.status === 422 && toProblemType(told) === 'serverInternal' ? 500 : told.status
      return {
        status,
        raw: JSON.stringify({ ...members, type: toUrn(toProblemType(told)), detail: told.message, status }),
        contentType: 'application/problem+json',
        headers: { 'Replay-Nonce': nonces.issue() },
      }
    },
  }
}
