import type { Clock } from '@warder/base'
import type { ErrorShape } from '@warder/server'
import type { Database } from '@warder/storage'
import type { ChallengeProbes } from '../probes/probes.ts'
import type { Nonces } from '../protocol/nonces.ts'

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
