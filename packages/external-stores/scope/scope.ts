import { failure } from '@warder/base'
import { sharedRateSlots } from '@warder/runtime'
import { createTokenBuckets, type Operation, type TokenBuckets } from '@warder/server'
import type { ExternalStoreServices } from './services.ts'
import type { ExternalEnvironment, ExternalStore } from './store.ts'

/**
 * Adds the features of all stores to the operations of a store: permissive CORS without credentials, members that the
 * cloud adds, its tag and error shape, its rate limit, its stop switch and blocked users. All are checked on each
 * request after authentication and before the access check of the operation: unauthenticated callers learn nothing
 * about them, and are limited only by address. Operations without credentials have a limit of their own.
 */
export function operationsInScope<Config>(
  store: ExternalStore<Config>,
  environment: ExternalEnvironment<Config>,
): readonly Operation<ExternalStoreServices>[] {
  const limiter = createLimiter(store, environment)
  return store.operations(environment).map((operation) => ({
    ...operation,
    tag: store.title,
    errorShape: store.errorShape,
    foreignMembers: {
      names: 'any',
      because: `${store.title}: the cloud's program makes the request, and later versions of its interface add members.`,
    },
    foreignParameters: {
      names: 'any',
      because: `${store.title}: the cloud's program makes the request.`,
    },
    cors: 'any-origin',
    access: {
      ...operation.access,
      async check(input, context) {
        const { services, principal } = context
        const { stopped_at } = await services.external.stopSwitch.state(store.name)
        if (stopped_at !== null) throw store.stopped()
        limitRate(limiter, principal === undefined ? `${store.name}, anonymous` : store.name)
        if (principal !== undefined) await services.blocks.require(principal)
        await operation.access.check?.(input, context)
      },
    },
  }))
}

function createLimiter<Config>(
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

/** @param callers those who share the limit: requests without credentials do not use up that of the cloud */
function limitRate(limiter: TokenBuckets | undefined, callers: string): void {
  const verdict = limiter?.take(`external store ${callers}`)
  if (verdict === undefined || verdict.allowed) return
  throw failure('rate_limited', undefined, { retryAfterSeconds: verdict.retryAfterSeconds })
}
