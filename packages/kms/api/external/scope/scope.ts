import { failure } from '@warder/foundation/errors'
import { createTokenBuckets, type TokenBuckets } from '@warder/foundation/http'
import type { Operation } from '@warder/foundation/operations'
import { andThen } from '@warder/foundation/promises'
import { sharedRateSlots } from '@warder/foundation/runtime'
import type { KmsServices } from '../../../services.ts'
import type { ExternalEnvironment, ExternalStore } from './store.ts'

/**
 * The operations of a store with what every store has: permissive CORS without credentials, its tag and error shape, its
 * rate limit, its stop switch and blocked users. All are asked on each request when it is known who asks, before the operation's own
 * access is: who is nobody learns nothing of them, and is limited by address as everywhere.
 */
export function operationsInScope<Config>(
  store: ExternalStore<Config>,
  environment: ExternalEnvironment<Config>,
): readonly Operation<KmsServices>[] {
  const limiter = limiterOf(store, environment)
  return store.operations(environment).map((operation) => ({
    ...operation,
    tag: store.title,
    errorShape: store.errorShape,
    cors: 'any-origin',
    access: {
      ...operation.access,
      check(input, context) {
        const { services, principal } = context
        return andThen(services.external.stopSwitch.state(store.name), ({ stopped_at }) => {
          if (stopped_at !== null) throw store.stopped()
          limitRate(limiter, store.name)
          const admitted = principal && services.blocks.require(principal)
          return andThen(admitted, () => operation.access.check?.(input, context))
        })
      },
    },
  }))
}

function limiterOf<Config>(
  store: ExternalStore<Config>,
  { config, clock, rateMemory }: ExternalEnvironment<Config>,
): TokenBuckets | undefined {
  const ratePerSecond = store.ratePerSecond(config)
  if (ratePerSecond === undefined) return undefined
  return createTokenBuckets({
    ratePerSecond,
    burst: ratePerSecond,
    slots: sharedRateSlots,
    clock,
    key: (name) => name,
    ...(rateMemory !== undefined && { memory: rateMemory }),
  })
}

function limitRate(limiter: TokenBuckets | undefined, name: string): void {
  const verdict = limiter?.take(`external store ${name}`)
  if (verdict === undefined || verdict.allowed) return
  throw failure('rate_limited', undefined, { retryAfterSeconds: verdict.retryAfterSeconds })
}
