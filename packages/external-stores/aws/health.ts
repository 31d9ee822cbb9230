import { randomBytes } from 'node:crypto'
import { version } from '@warder/base'
import { signedIn } from '@warder/keys'
import { post } from '@warder/server'
import { StorageUnavailable } from '@warder/storage'
import Type from 'typebox'
import { define, type ExternalStoreServices } from '../scope/services.ts'
import { xksFailure } from './errors.ts'
import { gcmPlan, joinAuthenticatedData } from './key.ts'
import { HealthMetadata, recordMetadata } from './request.ts'
import type { XksRoute } from './route.ts'

/** Longest that the database is waited for: AWS KMS waits for 250 ms. */
const patienceMs = 200

/**
 * Checks that the database is reachable and writable, and that the key backend can use a temporary key.
 * @throws failures that are reported as DependencyTimeoutException or InternalException
 */
async function requireHealth({ db, keys, policy }: ExternalStoreServices): Promise<void> {
  const problem = db.problem()
  if (problem !== undefined) throw new StorageUnavailable(problem)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new StorageUnavailable('the database did not respond in time')),
    patienceMs,
  )
  try {
    await Promise.race([db.ping(), late])
  } finally {
    clearTimeout(timer)
  }
  const key = await keys.backend.open('secret', randomBytes(32))
  const data = randomBytes(32)
  const aad = joinAuthenticatedData(data, data.subarray(0, 1))
  const plan = gcmPlan(policy)
  const made = await key.encrypt(plan, { data, iv: undefined, aad })
  const opened = await key.decrypt(plan, { data: made.data, iv: made.iv, tag: made.tag, aad })
  if (!opened.equals(data))
    throw xksFailure('InternalException', 'a test key did not decrypt what it encrypted')
}

/** XKS Proxy API, GetHealthStatus: involves no key and no grant. */
export function healthOperation(route: XksRoute) {
  return define({
    ...route.common('health'),
    route: post(route.path('/health')),
    summary: 'Check that keys can be used, for AWS KMS',
    access: signedIn,
    request: Type.Object({ requestMetadata: HealthMetadata }),
    reply: Type.Object({
      xksProxyFleetSize: Type.Integer(),
      xksProxyVendor: Type.String(),
      xksProxyModel: Type.String(),
      ekmVendor: Type.String(),
      ekmFleetDetails: Type.Array(
        Type.Object({ id: Type.String(), model: Type.String(), healthStatus: Type.String() }),
      ),
    }),
    async act({ body }, context) {
      recordMetadata(context, body.requestMetadata)
      await requireHealth(context.services)
      const model = `Warder ${version}`
      return {
        xksProxyFleetSize: route.fleetSize,
        xksProxyVendor: 'Warder',
        xksProxyModel: model,
        ekmVendor: 'Warder',
        ekmFleetDetails: [{ id: route.node, model, healthStatus: 'ACTIVE' }],
      }
    },
  })
}
