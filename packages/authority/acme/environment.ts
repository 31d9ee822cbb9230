import type { Clock, ErrorKind } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { AccessServices, Blocks } from '@warder/keys'
import { defineOperation, type ErrorShape, type PublicError } from '@warder/server'
import type { Database, Seal } from '@warder/storage'
import Type from 'typebox'
import type { RevocationConfig } from '../register/settings.ts'
import type { Nonces } from './nonces.ts'
import type { ChallengeProbes } from './probes.ts'
import { type ProblemType, toUrn } from './problem.ts'

/** Services that the ACME server needs. */
export interface AcmeServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** true: only algorithms of FIPS builds. */
  readonly fips: boolean
  /** Algorithm policy of this server, including `fips`. Every operation of REST and KMIP applies it. */
  readonly policy: AlgorithmPolicy
  /** Suspended principals, whose requests are refused. */
  readonly blocks: Blocks
  /** How authorities publish revocations. */
  readonly revocation: RevocationConfig
}

/** Declares an operation of this folder. */
export const define = defineOperation<AcmeServices>()

/** Everything the interface uses besides the services. */
export interface AcmeEnvironment {
  readonly db: Database
  readonly clock: Clock
  readonly nonces: Nonces
  readonly probes: ChallengeProbes
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly errorShape: ErrorShape
}

/** Addresses of the resources of one authority. */
export class AcmeUrls {
  readonly #base: string

  constructor(baseUrl: string, authority: string) {
    this.#base = `${baseUrl}/acme/${encodeURIComponent(authority)}`
  }

  to(...path: readonly string[]): string {
    return [this.#base, ...path].join('/')
  }

  get directory(): string {
    return this.to('directory')
  }

  account(id: string): string {
    return this.to('account', id)
  }

  order(id: string): string {
    return this.to('order', id)
  }

  authorization(id: string): string {
    return this.to('authorization', id)
  }

  challenge(authorization: string, type: string): string {
    return this.to('challenge', authorization, type)
  }

  certificate(id: string): string {
    return this.to('certificate', id)
  }
}

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
